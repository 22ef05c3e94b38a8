#include "core/schedule/thread_trial.hpp"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

constexpr double kWindow = 200e6;      // ns; minimum step time of a window
constexpr std::uint32_t kFewSteps = 2; // minimum steps of a window
constexpr double kLongWindow = 1e9;
constexpr double kLongStep = 100e6;
constexpr double kHopelessTrial = 1.3; // factor; a trial slower than this is rejected before its window ends
constexpr std::uint32_t kMaxGains = 8; // maximum comparisons of a trial
constexpr double kGain = 0.02;         // minimum throughput gain for a change
// Minimum gain for fewer threads: more threads leave no core unused
constexpr double kGainOfFewer = 0.04;
constexpr double kScatter = 0.08; // assumed scatter until there are 3 gains
constexpr double kLeastScatter = 0.02;
constexpr double kSureGain = 2.0;   // standard errors, to adopt
constexpr double kUnsureGain = 0.7; // standard errors, to reject

} // namespace

bool StepWindow::add(std::int64_t ns, std::int64_t predicted) noexcept {
    work_ += static_cast<double>(predicted);
    time_ += static_cast<double>(std::max<std::int64_t>(ns, 1));
    ++steps_;
    return (time_ >= kWindow && steps_ >= kFewSteps) || time_ >= kLongWindow;
}

bool ThreadTrial::is_long(std::int64_t ns) noexcept {
    return static_cast<double>(ns) >= kLongStep;
}

void ThreadTrial::begin(std::uint32_t count) noexcept {
    count_ = count;
    turn_ = 0;
    window_ = {};
    sum_ = squares_ = elsewhere_ = 0;
    gains_ = 0;
}

void ThreadTrial::skip(std::int64_t ns) noexcept {
    elsewhere_ += is_elsewhere() ? static_cast<double>(ns) : 0;
}

ThreadTrial::Verdict
ThreadTrial::add(std::int64_t ns, std::int64_t predicted, std::uint32_t settled) noexcept {
    skip(ns);
    const bool full = window_.add(ns, predicted);
    if (is_elsewhere() && (window_.steps() > 1 || is_long(ns)) &&
        window_.rate() * kHopelessTrial < rate_before_) {
        return Verdict::reject;
    }
    return full ? end_window(settled) : Verdict::open;
}

ThreadTrial::Verdict ThreadTrial::end_window(std::uint32_t settled) noexcept {
    const auto rate = window_.rate();
    const auto before = rate_before_;
    window_ = {};
    if (is_elsewhere()) {
        rate_during_ = rate;
        ++turn_;
        return Verdict::next_window;
    }
    rate_before_ = rate;
    if (turn_++ == 0) {
        return Verdict::next_window;
    }
    const auto gain = std::log(rate_during_ / std::sqrt(before * rate));
    sum_ += gain;
    squares_ += gain * gain;
    ++gains_;
    return judge(settled);
}

// Ends the trial once the throughput gain is certain, or too unlikely to be worth more measurements.
ThreadTrial::Verdict ThreadTrial::judge(std::uint32_t settled) const noexcept {
    const auto mean = sum_ / gains_;
    const auto variance = gains_ > 1 ? (squares_ - gains_ * mean * mean) / (gains_ - 1) : 0;
    const auto scatter = gains_ > 2 ? std::max(std::sqrt(std::max(variance, 0.0)), kLeastScatter) : kScatter;
    const auto doubt = scatter / std::sqrt(gains_);
    const auto enough = count_ < settled ? kGainOfFewer : kGain;
    if (mean - kSureGain * doubt > enough) {
        return Verdict::adopt;
    }
    const bool is_hopeless = mean + kUnsureGain * doubt < enough || gains_ == kMaxGains;
    return is_hopeless ? Verdict::reject : Verdict::next_window;
}

} // namespace sotto
