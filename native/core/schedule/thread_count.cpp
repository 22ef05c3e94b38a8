#include "core/schedule/thread_count.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sotto {
namespace {

constexpr std::int64_t kTrialSecond = 1'000'000'000;
constexpr std::int64_t kSoonTried = 2 * kTrialSecond;
constexpr std::int64_t kRarestTrial = 32 * kTrialSecond;
constexpr std::int64_t kRarestUpwards =
    5 * kTrialSecond;                // as a core that becomes free does not show in step times
constexpr double kTrialsApart = 25;  // step time between trials / time on the other number in the last trial
constexpr double kHurriedApart = 10; // the same ratio, for a trial that is brought forward
constexpr std::int64_t kAfterGivenUp = 3 * kTrialSecond / 2; // until a number that stood still is tried again
constexpr double kWindow = 200e6;                            // nanoseconds of steps
constexpr std::uint32_t kFewSteps = 2;                       // of a window; long steps are few
constexpr double kLongWindow = 1e9;
constexpr double kLongStep = 100e6;     // a single one tells as much as many short ones
constexpr double kHopelessTrial = 1.3;  // times the time: the rest of a window tells nothing new
constexpr std::uint32_t kMostGains = 8; // of a trial
constexpr double kGain = 0.02;          // of throughput, below which another number is not worth a change
constexpr double kGainOfFewer = 0.04;   // likewise, of fewer threads: more of them leave no core unused
constexpr double kScatter = 0.08;       // of a gain, until there are several
constexpr double kLeastScatter = 0.02;
constexpr double kSureGain = 2.0;     // standard errors, for a change
constexpr double kUnsureGain = 0.7;   // likewise, against one
constexpr double kElsewhere = 0.2;    // change of log(predicted / measured time) that brings a trial forward
constexpr std::uint32_t kToHurry = 2; // consecutive windows: the game often slows a single one
constexpr double kFollowingUsual = 0.25; // weight of the last window in usual_

// Numbers of threads between which nothing is tried: one apart where they are few, by a fourth where many.
std::uint32_t stride(std::uint32_t count) noexcept {
    return std::max(1U, count / 4);
}

} // namespace

// Returns true once the window is long enough to be compared.
bool ThreadCount::Window::add(std::int64_t ns, std::int64_t predicted) noexcept {
    work += static_cast<double>(predicted);
    time += static_cast<double>(std::max<std::int64_t>(ns, 1));
    ++steps;
    return (time >= kWindow && steps >= kFewSteps) || time >= kLongWindow;
}

void ThreadCount::set_max(std::uint32_t max, std::int64_t now) noexcept {
    max = std::max(max, 1U);
    if (max == max_) {
        return;
    }
    const auto before = std::exchange(with_other_max_, {max_, count_, interval_, next_});
    const bool known = before.max == max;
    max_ = max;
    count_ = known ? before.count : max;
    interval_ = known ? before.interval : kSoonTried;
    next_ = std::max(known ? before.next : 0, now + kSoonTried);
    trial_ = 0;
    upwards_ = false;
    window_ = {};
}

// The number to try next; 0: there is none in that direction.
std::uint32_t ThreadCount::neighbour() const noexcept {
    if (upwards_ ? count_ >= max_ : count_ <= 1) {
        return 0;
    }
    return upwards_ ? std::min(count_ + stride(count_), max_) : count_ - stride(count_);
}

void ThreadCount::stepped(
    std::uint32_t threads, std::int64_t ns, std::int64_t predicted, std::int64_t now
) noexcept {
    if (max_ == 1 || predicted <= 0 || threads != this->now()) {
        return;
    }
    const bool is_long = static_cast<double>(ns) >= kLongStep;
    if (std::exchange(changed_, false) && !is_long) { // other threads were woken for it
        elsewhere_ += tries() ? static_cast<double>(ns) : 0;
        return;
    }
    if (trial_ == 0) {
        since_ += static_cast<double>(ns);
        watch(ns, predicted, now);
        return;
    }
    elsewhere_ += tries() ? static_cast<double>(ns) : 0;
    const bool full = window_.add(ns, predicted);
    if (tries() && (window_.steps > 1 || is_long) && window_.rate() * kHopelessTrial < rate_before_) {
        reject(now);
    } else if (full) {
        end_window(now);
    }
}

// Between trials: brings the next trial forward if step times change suddenly.
void ThreadCount::watch(std::int64_t ns, std::int64_t predicted, std::int64_t now) noexcept {
    if (window_.add(ns, predicted)) {
        const auto off = std::log(window_.rate());
        if (std::abs(off - usual_) <= kElsewhere) {
            unusual_ = 0;
            usual_ += kFollowingUsual * (off - usual_);
        } else if (++unusual_ >= kToHurry && now >= may_hurry_ && since_ >= kHurriedApart * elsewhere_) {
            next_ = now;
            wanted_ = 0;
            interval_ = kSoonTried;
            usual_ = off;
        }
        window_ = {};
    }
    if (now >= next_ && since_ >= wanted_) {
        begin_trial(now);
    }
}

void ThreadCount::begin_trial(std::int64_t now) noexcept {
    if (neighbour() == 0) {
        upwards_ = !upwards_;
    }
    trial_ = neighbour();
    if (trial_ == 0) {
        next_ = now + interval_;
        return;
    }
    turn_ = 0;
    unusual_ = 0;
    window_ = {};
    sum_ = squares_ = elsewhere_ = 0;
    gains_ = 0;
}

void ThreadCount::end_window(std::int64_t now) noexcept {
    const auto rate = window_.rate();
    const auto before = rate_before_;
    window_ = {};
    changed_ = true;
    if (tries()) {
        rate_during_ = rate;
        ++turn_;
        return;
    }
    rate_before_ = rate;
    if (turn_++ > 0) {
        const auto gain = std::log(rate_during_ / std::sqrt(before * rate));
        sum_ += gain;
        squares_ += gain * gain;
        ++gains_;
        judge(now);
    }
}

// Ends the trial once the gain is beyond doubt, or not worth more trouble.
void ThreadCount::judge(std::int64_t now) noexcept {
    const auto mean = sum_ / gains_;
    const auto variance = gains_ > 1 ? (squares_ - gains_ * mean * mean) / (gains_ - 1) : 0;
    const auto scatter = gains_ > 2 ? std::max(std::sqrt(std::max(variance, 0.0)), kLeastScatter) : kScatter;
    const auto doubt = scatter / std::sqrt(gains_);
    const auto enough = trial_ < count_ ? kGainOfFewer : kGain;
    if (mean - kSureGain * doubt > enough) {
        adopt(now);
    } else if (mean + kUnsureGain * doubt < enough || gains_ == kMostGains) {
        reject(now);
    }
}

void ThreadCount::end_trial(std::int64_t now) noexcept {
    trial_ = 0;
    changed_ = true;
    window_ = {};
    may_hurry_ = now + kTrialSecond;
    since_ = 0;
    wanted_ = 0;
}

void ThreadCount::adopt(std::int64_t now) noexcept {
    count_ = trial_;
    end_trial(now);
    interval_ = kSoonTried;
    next_ = now + kSoonTried / 8; // the next one may be better still
}

void ThreadCount::reject(std::int64_t now) noexcept {
    end_trial(now);
    upwards_ = !upwards_;
    if (neighbour() == 0) {
        upwards_ = !upwards_;
    }
    interval_ = std::clamp(2 * interval_, kTrialSecond, kRarestTrial);
    next_ = now + (upwards_ ? std::min(interval_, kRarestUpwards) : interval_);
    wanted_ = kTrialsApart * elsewhere_;
}

// One thread fewer, or an end to the trial.
void ThreadCount::gave_up(std::int64_t now) noexcept {
    if (!tries()) {
        count_ = std::max(count_ - 1, 1U);
    }
    reject(now);
    upwards_ = true;
    next_ = now + kAfterGivenUp;
    wanted_ = 0;
}

} // namespace sotto
