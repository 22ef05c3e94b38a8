// Proposes draft tokens for a stream that is decoded alone, by prompt lookup or with a draft model.
#pragma once

#include "model/contexts.hpp"
#include "step/step_item.hpp"

#include <chrono>
#include <cstddef>

namespace sotto::llama {

class Speculator {
public:
    // `contexts`: includes the draft model's context, if any.
    Speculator(const Options& options, Contexts& contexts);

    bool enabled() const noexcept { return enabled_; }
    // Disables measure() until the next guess().
    void reset() noexcept { begun_ = {}; }
    // Proposes up to `room` draft tokens, stores them in `item` and starts measuring the step. `waited`:
    // StepGate::waited().
    void guess(StepItem& item, std::size_t room, std::chrono::nanoseconds waited);
    // Updates the acceptance rate of the item's stream. Call for each draft token in order, up to the first
    // that the model does not choose, and also for `item.expected` if the step checks no draft token.
    // `accepted`: the model chose the same token.
    void saw(const StepItem& item, bool accepted);
    // Measures the step of `item` since guess(). `waited`:
    // StepGate::waited(); time at the gate does not count.
    void measure(const StepItem& item, std::chrono::nanoseconds waited);

private:
    void look_up(StepItem& item, std::size_t max);
    void draft(StepItem& item, std::size_t max);

    const bool enabled_;
    const std::size_t max_; // draft tokens per step
    const bool lookup_;
    Contexts& contexts_;
    DraftLength lookups_;
    DraftLength drafts_;
    std::chrono::steady_clock::time_point begun_; // start of the step; zero: not measured
    std::chrono::nanoseconds waited_before_{0};
};

} // namespace sotto::llama
