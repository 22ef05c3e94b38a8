// Predicts step times from measured step times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

namespace sotto {

// Work of a step.
struct StepLoad {
    std::uint32_t prompt = 0;  // tokens to prefill
    std::uint32_t answers = 0; // tokens to decode: one per stream, plus draft tokens
    double reach = 0;          // sum of the context lengths that the tokens attend to

    std::uint32_t tokens() const noexcept { return prompt + answers; }
    // Adds `count` tokens of a prompt of which `held` tokens are prefilled already.
    void add_prompt(std::uint32_t count, std::uint32_t held) noexcept {
        prompt += count;
        reach += count * (held + count / 2.0);
    }
    void add_answer(std::uint32_t held, std::uint32_t count = 1) noexcept {
        answers += count;
        reach += static_cast<double>(count) * held;
    }
};

// Predicts the time of one kind of step as a + b * tokens + c * reach, fitted by least squares to the last
// steps. Leaves out single steps that took much longer than predicted because of interference.
class CostFit {
public:
    void learn(const StepLoad& load, double ns) noexcept;
    bool is_known() const noexcept { return count_ >= kLeast; }
    double predict(const StepLoad& load) const noexcept;
    // Returns the number of tokens of the largest of the last steps.
    std::uint32_t largest() const noexcept;

private:
    static constexpr std::size_t kLeast = 2;
    static constexpr std::size_t kKept = 48;
    static constexpr std::size_t kTerms = 3;
    using Terms = std::array<double, kTerms>;

    struct Sample {
        Terms terms;
        double ns;
    };

    static Terms terms_of(const StepLoad& load) noexcept;
    void fit() noexcept;
    Terms solve(double most_over) const noexcept;
    double value(const Terms& weights, const Terms& terms) const noexcept;

    std::array<Sample, kKept> samples_{};
    std::size_t count_ = 0; // samples added in total
    Terms weights_{};
};

// Step times of one model, by kind of step (prefill or decode) and number of threads.
class CostModel {
public:
    // Allocates memory, so that learn() cannot fail for `threads`.
    void prepare(std::uint32_t threads) { fits_.try_emplace(threads); }
    void learn(std::uint32_t threads, const StepLoad& load, std::int64_t ns) noexcept;

    // Returns the predicted step time in ns; 0 if unknown.
    std::int64_t predict(std::uint32_t threads, const StepLoad& load) const noexcept;

    // Returns true if step times of some kind can be predicted.
    bool is_known() const noexcept;

    // Returns how many tokens of a prompt to add to a step of load `base` so that the step takes at most
    // `limit` ns. `held`: tokens of the prompt that are already prefilled; `most`: maximum. Returns at least
    // kFew tokens (or `most`, if lower), so that the prompt progresses, and few tokens while few steps were
    // measured.
    std::uint32_t prompt_tokens(
        std::uint32_t threads, StepLoad base, std::uint32_t held, std::int64_t limit, std::uint32_t most
    ) const noexcept;

    static constexpr std::uint32_t kFew = 16; // minimum prefill tokens per step

private:
    struct Fits {
        CostFit prompt;
        CostFit answer;
    };

    const CostFit* fit_of(std::uint32_t threads, const StepLoad& load) const noexcept;

    std::map<std::uint32_t, Fits> fits_; // by threads
};

} // namespace sotto
