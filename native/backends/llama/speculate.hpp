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

// What followed the end of `tokens` where it was there before: after the longest such stretch, and the last
// of those. Empty where there is none.
std::vector<llama_token> look_up(std::span<const llama_token> tokens, std::size_t most);

// How often guesses about one stream come true.
struct Luck {
    double rate = 0.6;
    void saw(bool hit) noexcept { rate += ((hit ? 1.0 : 0.0) - rate) / 8; }
    void fade() noexcept { rate += (Luck().rate - rate) / 128; } // nothing was seen for a step
};

// How many tokens to guess. Checking several takes longer than computing one: how much longer is measured.
class Speculation {
public:
    // Of `available` guessed tokens, how many to check, so that tokens come fastest.
    std::size_t worth(const Luck& luck, std::size_t available, const ggml_threadpool* pool);
    // A step of `tokens` of one stream took so long.
    void measured(std::size_t tokens, std::chrono::nanoseconds time, const ggml_threadpool* pool);

private:
    using Costs = std::array<double, kMostGuessed + 2>; // by tokens; 0: not measured yet

    std::map<const ggml_threadpool*, Costs> costs_;
    unsigned guessed_ = 0; // steps since the last that computed one token
};

} // namespace sotto::llama
