#include "backends/diffusion/progress.hpp"

namespace sotto::diffusion {

// Most of a phase's cost grows with the pixels; reading the weights does not.
PhaseCosts ExpectedCosts::of(double pixels) const noexcept {
    const auto span = larger_.pixels - smaller_.pixels;
    const auto at = span > 0 ? (pixels - smaller_.pixels) / span : 1;
    const auto cost = [&](double smaller, double larger) {
        return std::max(smaller + (larger - smaller) * at, 0.0);
    };
    const auto& [before, step, after] = smaller_.costs;
    return {
        cost(before, larger_.costs.before), cost(step, larger_.costs.step), cost(after, larger_.costs.after)
    };
}

bool Progress::end_phase(std::uint32_t phase) noexcept {
    if (phase != phase_) {
        return false;
    }
    (phase_ == 0 ? expected_.before : expected_.step) = in_phase_;
    in_phase_ = 0;
    ++phase_;
    return true;
}

void Progress::end_image() noexcept {
    expected_.after = in_phase_;
    in_phase_ = 0;
    phase_ = 0;
    --images_;
}

Progress::Told Progress::end_step() noexcept {
    const auto whole = std::max(static_cast<std::uint32_t>(untold_), 1U);
    const auto evaluated = std::min(whole, std::max(asked_, remaining_));
    untold_ = std::max(untold_ - whole, 0.0);
    remaining_ = std::min(remaining_, expected_units());
    return {evaluated, remaining_};
}

std::uint32_t Progress::expected_units() const noexcept {
    constexpr double kMost = 1e9;
    const auto image = expected_.before + expected_.step * steps_ + expected_.after;
    const auto begun = phase_ == 0 ? expected_.before : phase_ > steps_ ? expected_.after : expected_.step;
    auto left = image * (images_ == 0 ? 0 : images_ - 1) + std::max(begun - in_phase_, 0.0);
    if (phase_ <= steps_) {
        left += expected_.step * (steps_ - phase_) + expected_.after;
    }
    return static_cast<std::uint32_t>(std::clamp(left, 1.0, kMost));
}

} // namespace sotto::diffusion
