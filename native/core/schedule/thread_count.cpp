#include "core/schedule/thread_count.hpp"

#include <algorithm>

namespace sotto {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSoon = kSecond / 4;
constexpr std::int64_t kApart = 40; // times as long as a trial took
constexpr std::int64_t kRarely = 30 * kSecond;
constexpr std::int64_t kGivenUp = kSecond / 2;
constexpr std::int64_t kStoodStill = kSecond / 4;
constexpr double kFaster = 0.93;     // hysteresis: what is not clearly faster is not worth a change
constexpr double kMuchFaster = 0.85; // than what suits the game best
constexpr double kAsFast = 1.02;     // on the way back to that
constexpr double kHopeless = 1.3;    // times as long: one such step is enough

} // namespace

void ThreadCount::set_range(std::uint32_t most, std::uint32_t start, std::int64_t now) noexcept {
    most = std::max(most, 1U);
    start = std::clamp(start, 1U, most);
    if (most == most_ && start == start_) {
        return;
    }
    most_ = most;
    start_ = count_ = start;
    trial_ = 0;
    interval_ = kSoon;
    next_ = now + kSoon;
}

void ThreadCount::stepped(
    std::uint32_t threads, std::int64_t ns, std::int64_t predicted, std::int64_t now
) noexcept {
    if (most_ == 1) {
        return;
    }
    if (trial_ == 0) {
        if (predicted > 0 && now >= next_) {
            begin_trial(now);
        }
        return;
    }
    if (threads != trial_ || predicted <= 0) {
        return;
    }
    const auto ratio = static_cast<double>(ns) / static_cast<double>(predicted);
    ratios_[seen_++] = ratio;
    if (ratio > kHopeless && seen_ > 1) {
        put_off(now);
    } else if (seen_ == kSteps) {
        end_trial(now);
    }
}

void ThreadCount::begin_trial(std::int64_t now) noexcept {
    if (count_ == most_) {
        upwards_ = false;
    } else if (count_ == 1) {
        upwards_ = true;
    }
    if (!upwards_ && count_ == 1) {
        next_ = now + interval_;
        return;
    }
    trial_ = upwards_ ? count_ + 1 : count_ - 1;
    seen_ = 0;
    began_ = now;
}

void ThreadCount::end_trial(std::int64_t now) noexcept {
    auto* middle = ratios_.begin() + 1 + (kSteps - 1) / 2;
    std::nth_element(ratios_.begin() + 1, middle, ratios_.end());
    const auto enough = count_ == start_ ? kMuchFaster : trial_ == start_ ? kAsFast : kFaster;
    if (*middle >= enough) {
        put_off(now);
        return;
    }
    count_ = trial_;
    trial_ = 0;
    interval_ = kSoon;
    next_ = now + kSoon;
}

void ThreadCount::gave_up(std::int64_t ns, std::int64_t now) noexcept {
    if (trial_ == 0) {
        count_ = std::max(count_ - 1, 1U);
        upwards_ = false; // put_off() turns it
        began_ = now;     // no trial took any time
    }
    interval_ = std::max(interval_, ns > kStoodStill ? kRarely : kGivenUp); // else it stands still again
    put_off(now);
}

void ThreadCount::put_off(std::int64_t now) noexcept {
    trial_ = 0;
    upwards_ = !upwards_;
    interval_ = std::clamp(
        2 * interval_, std::min(kApart * std::clamp<std::int64_t>(now - began_, 0, kRarely), kRarely), kRarely
    );
    next_ = now + interval_;
}

} // namespace sotto
