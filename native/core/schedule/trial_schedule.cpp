#include "core/schedule/trial_schedule.hpp"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

constexpr std::int64_t kTrialSecond = 1'000'000'000;
constexpr std::int64_t kSoonTried = 2 * kTrialSecond;
constexpr std::int64_t kRarestTrial = 32 * kTrialSecond;
// Like kRarestTrial, for trials of more threads: step times do not show that a core became free.
constexpr std::int64_t kRarestUpwards = 5 * kTrialSecond;
// Minimum step time between two trials, as a multiple of the time that the last trial spent on the number of
// threads that it tried.
constexpr double kTrialsApart = 25;
constexpr double kHurriedApart = 10; // like kTrialsApart, for a trial that is brought forward
// Delay of the next trial, which uses more threads, after a step that was given up.
constexpr std::int64_t kAfterGivenUp = 3 * kTrialSecond / 2;
// Difference of log(predicted / measured time) from usual_ that brings a trial forward.
constexpr double kElsewhere = 0.2;
constexpr std::uint32_t kToHurry = 2;    // consecutive windows: the game often slows a single one
constexpr double kFollowingUsual = 0.25; // weight of the last window in usual_

} // namespace

void TrialSchedule::restart(const Saved* saved, std::int64_t now) noexcept {
    interval_ = saved != nullptr ? saved->interval : kSoonTried;
    next_ = std::max(saved != nullptr ? saved->next : 0, now + kSoonTried);
    window_ = {};
}

bool TrialSchedule::stepped(
    std::int64_t ns, std::int64_t predicted, double elsewhere_ns, std::int64_t now
) noexcept {
    since_ += static_cast<double>(ns);
    if (window_.add(ns, predicted)) {
        const auto off = std::log(window_.rate());
        if (std::abs(off - usual_) <= kElsewhere) {
            unusual_ = 0;
            usual_ += kFollowingUsual * (off - usual_);
        } else if (++unusual_ >= kToHurry && now >= may_hurry_ && since_ >= kHurriedApart * elsewhere_ns) {
            next_ = now;
            wanted_ = 0;
            interval_ = kSoonTried;
            usual_ = off;
        }
        window_ = {};
    }
    return now >= next_ && since_ >= wanted_;
}

void TrialSchedule::began() noexcept {
    unusual_ = 0;
    window_ = {};
}

void TrialSchedule::ended(std::int64_t now) noexcept {
    window_ = {};
    may_hurry_ = now + kTrialSecond;
    since_ = 0;
    wanted_ = 0;
}

void TrialSchedule::adopted(std::int64_t now) noexcept {
    ended(now);
    interval_ = kSoonTried;
    next_ = now + kSoonTried / 8; // soon: a number farther in that direction may be faster still
}

void TrialSchedule::rejected(double elsewhere_ns, bool upwards, std::int64_t now) noexcept {
    ended(now);
    interval_ = std::clamp(2 * interval_, kTrialSecond, kRarestTrial);
    next_ = now + (upwards ? std::min(interval_, kRarestUpwards) : interval_);
    wanted_ = kTrialsApart * elsewhere_ns;
}

void TrialSchedule::gave_up(std::int64_t now) noexcept {
    next_ = now + kAfterGivenUp;
    wanted_ = 0;
}

} // namespace sotto
