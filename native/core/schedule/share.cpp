#include "core/schedule/share.hpp"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

constexpr std::uint32_t kFrames = 240; // that are judged together
constexpr std::uint32_t kMany = 6;     // missed ones, that are judged at once
constexpr double kTolerance = 0.01;    // so that the 99th of 100 frames keeps its period
constexpr double kDecrease = 0.6;
constexpr double kIncrease = 0.2;
constexpr double kNear = 0.7; // of where it was cut last, from where on it grows slowly
constexpr double kSlowly = 0.05;
constexpr std::uint32_t kCuts = 3; // after which less work should have helped
constexpr double kHelped = 0.7;    // of the frames missed before
constexpr double kFollowing = 0.1; // of the difference, where the game misses fewer by itself than before
constexpr double kChance = 2;      // standard deviations

} // namespace

void Share::frame(const Frame& frame, double least) noexcept {
    ++frames_;
    missed_ += frame.missed ? 1 : 0;
    if (frames_ >= kFrames || missed_ >= kMany) {
        look(least);
        frames_ = missed_ = 0;
    }
}

void Share::look(double least) noexcept {
    const double rate = static_cast<double>(missed_) / frames_;
    const double usual = std::max(own_, kTolerance);
    const double chance = kChance * std::sqrt(usual * (1 - usual) / frames_);
    if (missed_ > 1 && rate > own_ + kTolerance + chance) {
        decrease(rate, least);
        return;
    }
    cuts_ = 0;
    share_ = std::min(1.0, share_ + (share_ < kNear * ceiling_ ? kIncrease : kSlowly));
    ceiling_ = std::max(ceiling_, share_);
    own_ += std::min(0.0, kFollowing * (rate - own_));
}

void Share::decrease(double rate, double least) noexcept {
    if (cuts_ == 0) {
        rate_before_ = rate;
        share_before_ = share_;
    }
    if (cuts_ >= kCuts && rate > kHelped * rate_before_) {
        own_ = std::min(1.0, std::max(rate, rate_before_));
        share_ = ceiling_ = share_before_;
        cuts_ = 0;
        return;
    }
    ++cuts_;
    ceiling_ = share_;
    share_ = std::max(least, share_ * kDecrease);
}

std::int64_t rest_of(double share, std::int64_t took) noexcept {
    constexpr double kLongest = 200'000'000;
    return static_cast<std::int64_t>(std::min(static_cast<double>(took) * (1 - share) / share, kLongest));
}

} // namespace sotto
