#include "backends/diffusion/progress.hpp"

namespace sotto::diffusion {

void Progress::end_phase() noexcept {
    (phase_ == 0 ? expected_.before : expected_.step) = in_phase_;
    in_phase_ = 0;
    ++phase_;
}

void Progress::end_image() noexcept {
    expected_.after = in_phase_;
    in_phase_ = 0;
    phase_ = 0;
    --images_;
}

Progress::Told Progress::tell(std::uint32_t most) noexcept {
    const auto whole = std::max(static_cast<std::uint32_t>(untold_), 1U);
    const auto evaluated = std::min(whole, std::max(most, remaining_));
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
