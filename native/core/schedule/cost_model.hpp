// What a step will take, learned from what steps took.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

namespace sotto {

// What a step does.
struct StepLoad {
    std::uint32_t prompt = 0;  // tokens of prompts
    std::uint32_t answers = 0; // likewise of answers: one of each stream that speaks, and draft tokens
    double reach = 0;          // for all tokens together: those that each one looks back on

    std::uint32_t tokens() const noexcept { return prompt + answers; }
    // `count` tokens of a prompt of which `held` are worked through.
    void add_prompt(std::uint32_t count, std::uint32_t held) noexcept {
        prompt += count;
        reach += count * (held + count / 2.0);
    }
    void add_answer(std::uint32_t held, std::uint32_t count = 1) noexcept {
        answers += count;
        reach += static_cast<double>(count) * held;
    }
};

// time = a + b * tokens + c * reach, of one kind of step: least squares over the last steps. Single ones that
// took much longer than they should have, because something came between, are left out.
class CostFit {
public:
    void learn(const StepLoad& load, double ns) noexcept;
    bool is_known() const noexcept { return count_ >= kLeast; }
    double predict(const StepLoad& load) const noexcept;
    // The most tokens that any of the last steps had.
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
    std::size_t count_ = 0; // ever
    Terms weights_{};
};

// A model's steps, by kind and number of threads.
class CostModel {
public:
    // Makes room for what will be learned of so many threads.
    void prepare(std::uint32_t threads) { fits_.try_emplace(threads); }
    void learn(std::uint32_t threads, const StepLoad& load, std::int64_t ns) noexcept;

    // Nanoseconds; 0 where nothing is known.
    std::int64_t predict(std::uint32_t threads, const StepLoad& load) const noexcept;

    // How many tokens of a prompt, of which `held` are worked through, go into a step beside `base` if it
    // shall take `limit` at most: at least a few, so that it gets on; few while little is known.
    std::uint32_t prompt_tokens(
        std::uint32_t threads, StepLoad base, std::uint32_t held, std::int64_t limit, std::uint32_t most
    ) const noexcept;

    static constexpr std::uint32_t kFew = 16; // tokens of a prompt that are always worth a step

private:
    struct Fits {
        CostFit prompt;
        CostFit answer;
    };

    const CostFit* fit_of(std::uint32_t threads, const StepLoad& load) const noexcept;

    std::map<std::uint32_t, Fits> fits_; // by threads
};

} // namespace sotto
