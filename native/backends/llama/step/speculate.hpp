// Guesses what a stream says next, so that several of its tokens are checked in one go.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <ggml-cpu.h>
#include <llama.h>
#include <map>
#include <span>
#include <vector>

namespace sotto::llama {

// Tokens that are guessed at once, at most.
constexpr std::size_t kMostGuessed = 15;

// Finds the longest suffix of `tokens` that also occurs earlier, at its last occurrence, and returns the
// tokens that follow it there. Returns nothing if no suffix occurs earlier.
std::vector<llama_token> look_up(std::span<const llama_token> tokens, std::size_t most);

// The acceptance rate of draft tokens of one stream.
struct Acceptance {
    double rate = -1; // below 0: that of the model's streams before
};

// How many tokens to guess. Checking several takes longer than computing one: how much longer is measured.
class DraftLength {
public:
    // Of `available` guessed tokens, how many to check, so that tokens come fastest.
    std::size_t worth(Acceptance& stream, std::size_t available, const ggml_threadpool* pool);
    // The model chose the token that was guessed, or another one.
    void saw(Acceptance& stream, bool accepted);
    // A step of the stream had no draft tokens.
    void fade(Acceptance& stream) const;
    // A step of `tokens` of one stream took so long.
    void measured(std::size_t tokens, std::chrono::nanoseconds time, const ggml_threadpool* pool);

private:
    static constexpr double kUnknownRate = 0.6;
    using Costs = std::array<double, kMostGuessed + 2>; // by tokens; 0: not measured yet

    std::map<const ggml_threadpool*, Costs> costs_;
    double rate_ = kUnknownRate; // of all streams: moving average
    unsigned guessed_ = 0;       // steps since the last that computed one token
};

} // namespace sotto::llama
