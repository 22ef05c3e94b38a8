// Speculative decoding: proposes draft tokens, so that one batch checks several tokens of a stream.
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

// Maximum number of draft tokens per step.
constexpr std::size_t kMostGuessed = 15;

// Prompt lookup: finds the longest earlier occurrence of the end of `tokens`, or the last of
// several equally long ones, and returns up to `most` tokens that followed it. Returns an empty
// vector if the end did not occur before.
std::vector<llama_token> look_up(std::span<const llama_token> tokens, std::size_t most);

// The acceptance rate of draft tokens of one stream.
struct Acceptance {
    double rate = -1; // below 0: unknown; worth() then sets it to the average of all streams
};

// Chooses the number of draft tokens. Checking several tokens takes longer than computing one; the
// time of each number of tokens is measured per thread pool.
class DraftLength {
public:
    // Returns the number of draft tokens, at most `available`, that gives the most tokens per second.
    std::size_t worth(Acceptance& stream, std::size_t available, const ggml_threadpool* pool);
    // Updates the acceptance rates of the stream and of the model. Call after a draft token was
    // compared with the token that the model chose. `accepted`: they are equal.
    void saw(Acceptance& stream, bool accepted);
    // Call for a step without draft tokens: moves the stream's rate toward the model's average.
    void fade(Acceptance& stream) const;
    // Records the duration of a step that computed `tokens` tokens of one stream.
    void measured(std::size_t tokens, std::chrono::nanoseconds time, const ggml_threadpool* pool);

private:
    static constexpr double kUnknownRate = 0.6;
    // Seconds per step, by number of computed tokens; 0: not measured.
    using Costs = std::array<double, kMostGuessed + 2>;

    std::map<const ggml_threadpool*, Costs> costs_;
    double rate_ = kUnknownRate; // moving average over all streams
    unsigned guessed_ = 0;       // steps since the last step with a single token
};

} // namespace sotto::llama
