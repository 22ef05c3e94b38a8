// Polls the engine inside a step, and cancels the step if the engine requests it.
#include "step/step_gate.hpp"

#include "runtime/guard.hpp"
#include "runtime/process_end.hpp"

namespace sotto::llama {

std::chrono::steady_clock::time_point StepGate::now() const noexcept {
    return timed_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
}

bool StepGate::ask() {
    if (step_ == nullptr || cancelled_) {
        return cancelled_;
    }
    const auto asked = now();
    cancelled_ = step_->gate(step_->context) != 0 || process_ends();
    waited_ += now() - asked;
    if (cancelled_) {
        Call::current()->expect_below(0); // llama.cpp logs a cancelled step as an error
    }
    return cancelled_;
}

} // namespace sotto::llama
