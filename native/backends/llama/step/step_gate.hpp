// Polls the engine inside a step, cancels the step if the engine requests it, and measures the time
// that the engine blocks the step.
#pragma once

#include "runtime/fence.hpp"

#include <chrono>

namespace sotto::llama {

class StepGate {
public:
    // `timed`: measures waited(); otherwise waited() is 0 and no clock is read.
    explicit StepGate(bool timed) : timed_(timed) {}

    // During the lifetime of a Scope, ask() polls the gate function that the engine set in `step`.
    class Scope {
    public:
        Scope(StepGate& gate, const sotto_step& step) noexcept : gate_(gate) {
            gate_.step_ = &step;
            gate_.cancelled_ = false;
        }
        ~Scope() { gate_.step_ = nullptr; }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        StepGate& gate_;
    };

    // Polls the engine. Returns true if the step must be cancelled; further calls in that step then return
    // true without polling. Must be called within a Call.
    bool ask();
    // A ggml_abort_callback that calls ask(). `gate`: a StepGate.
    static bool on_abort(void* gate) { return static_cast<StepGate*>(gate)->ask(); }
    // Returns true if the current or the last step was cancelled.
    bool cancelled() const noexcept { return cancelled_; }
    // Total time inside ask(), over all steps.
    std::chrono::nanoseconds waited() const noexcept { return waited_; }

private:
    std::chrono::steady_clock::time_point now() const noexcept;

    const bool timed_;
    const sotto_step* step_ = nullptr; // null: no step is running
    bool cancelled_ = false;
    std::chrono::nanoseconds waited_{0};
};

} // namespace sotto::llama
