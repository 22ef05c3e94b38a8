// Guesses the next tokens of a stream that is decoded alone, by lookup or with a draft model.
#pragma once

#include "model/contexts.hpp"
#include "step/step_item.hpp"

#include <chrono>
#include <cstddef>

namespace sotto::llama {

class Speculator {
public:
    // `contexts`: with the draft model, if there is one.
    Speculator(const Options& options, Contexts& contexts);

    bool enabled() const noexcept { return enabled_; }
    // No cost is measured until the next guess().
    void reset() noexcept { begun_ = {}; }
    // Guesses up to `room` tokens. `waited`: StepGate::waited().
    void guess(StepItem& item, std::size_t room, std::chrono::nanoseconds waited);
    // The first draft token that is not checked yet was accepted, or not.
    void saw(const StepItem& item, bool accepted);
    // Measures the step of `item`, which began with guess().
    void measure(const StepItem& item, std::chrono::nanoseconds waited);

private:
    void look_up(StepItem& item, std::size_t max);
    void draft(StepItem& item, std::size_t max);

    const bool enabled_;
    const bool lookup_;
    Contexts& contexts_;
    DraftLength lookups_;
    DraftLength drafts_;
    std::chrono::steady_clock::time_point begun_; // of the step; zero: it is not measured
    std::chrono::nanoseconds waited_before_{0};
};

} // namespace sotto::llama
