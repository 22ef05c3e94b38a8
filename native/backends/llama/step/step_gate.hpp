// Asks the engine inside a step whether the step must end, and measures how long the engine makes it wait.
#pragma once

#include "runtime/fence.hpp"

#include <chrono>

namespace sotto::llama {

class StepGate {
public:
    // `timed`: waited() is measured; else it is 0, and no clock is read.
    explicit StepGate(bool timed) : timed_(timed) {}

    // While it lives, the gate asks `step`.
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

    // Returns true if the step must end: once it must, without asking again. Within a Call.
    bool ask();
    // The same, as a ggml_abort_callback. `gate`: a StepGate.
    static bool on_abort(void* gate) { return static_cast<StepGate*>(gate)->ask(); }
    // Of the current or the last step.
    bool cancelled() const noexcept { return cancelled_; }
    // Total time inside ask(), of all steps.
    std::chrono::nanoseconds waited() const noexcept { return waited_; }

private:
    std::chrono::steady_clock::time_point now() const noexcept;

    const bool timed_;
    const sotto_step* step_ = nullptr; // null: no step is under way
    bool cancelled_ = false;
    std::chrono::nanoseconds waited_{0};
};

} // namespace sotto::llama
