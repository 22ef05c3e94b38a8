#include "core/schedule/duty_controller.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sotto {
namespace {

constexpr std::int64_t kDutySecond = 1'000'000'000;
constexpr std::uint32_t kFramesLookedAt = 120; // frames per check
constexpr std::uint32_t kManyMissed = 6;       // missed frames that trigger a check early
constexpr double kTolerance = 0.01; // accepted rate of missed frames: p99 frame time within the period
constexpr double kLookChance = 2;   // standard deviations, for starting an experiment

constexpr std::uint32_t kSpared = 2; // reductions from all threads down to the free cores
constexpr double kDecrease = 0.6;
constexpr double kIncrease = 0.05;
constexpr double kSafe = 0.9; // maximum duty, relative to the duty at which models were last at fault
constexpr std::int64_t kGrowEvery = kDutySecond;
constexpr std::uint32_t kProbe = 8; // frames of a probe
constexpr std::int64_t kMinProbeWait = kDutySecond;
constexpr std::int64_t kMaxProbeWait = 4 * kDutySecond;
constexpr double kFollowing = 0.1; // weight of a new, lower miss rate in own_

} // namespace

void DutyController::frame(const Frame& frame, Beside beside, const Terms& terms) noexcept {
    duty_ = std::max(duty_, terms.min);
    if (experiment_.is_on()) {
        experiment(frame, beside, terms);
        return;
    }
    grow(frame);
    seen_.add(frame.missed);
    if (seen_.frames >= kFramesLookedAt || seen_.missed >= kManyMissed) {
        look(frame.end);
        seen_ = {};
    }
}

void DutyController::look(std::int64_t now) noexcept {
    const auto rate = seen_.rate();
    const auto usual = std::max(own_, kTolerance);
    const auto chance = kLookChance * std::sqrt(usual * (1 - usual) / seen_.frames);
    if (seen_.missed > 1 && rate > own_ + kTolerance + chance) {
        experiment_.begin(now);
        return;
    }
    own_ += std::min(0.0, kFollowing * (rate - own_));
}

// Raises the duty cycle while no frame is missed, and starts and continues probes.
void DutyController::grow(const Frame& frame) noexcept {
    if (before_probe_ > 0) {
        probe(frame);
        return;
    }
    if (duty_ >= 1 && spared_ == 0) {
        return;
    }
    if (frame.missed) {
        grown_at_ = frame.end;
    } else if (frame.end - grown_at_ >= kGrowEvery) {
        grown_at_ = frame.end;
        duty_ = std::max(duty_, std::min(duty_ + kIncrease, kSafe * ceiling_));
    }
    if (frame.end >= probe_at_ && !frame.missed) {
        before_probe_ = std::exchange(duty_, 1);
        probed_ = 0;
    }
}

void DutyController::probe(const Frame& frame) noexcept {
    if (frame.missed) {
        duty_ = std::exchange(before_probe_, 0);
        grown_at_ = frame.end;
        probe_wait_ = std::min(2 * probe_wait_, kMaxProbeWait);
        probe_at_ = frame.end + probe_wait_;
    } else if (++probed_ == kProbe) {
        before_probe_ = 0;
        spared_ = 0;
    }
}

void DutyController::experiment(const Frame& frame, Beside beside, const Terms& terms) noexcept {
    switch (experiment_.add(frame, beside, terms.yields)) {
    case DutyExperiment::Verdict::at_fault:
        blame(terms, frame.end);
        break;
    case DutyExperiment::Verdict::not_at_fault:
        acquit(frame.end);
        break;
    case DutyExperiment::Verdict::unclear:
        experiment_.put_off(frame.end);
        break;
    case DutyExperiment::Verdict::open:
        break;
    }
}

std::uint32_t DutyController::threads(const Cores& cores) const noexcept {
    const auto max = cores.max();
    const auto free = std::min(cores.free(), max);
    return spared_ == 0 || probes() ? max : spared_ < kSpared ? (max + free) / 2 : free;
}

void DutyController::blame(const Terms& terms, std::int64_t now) noexcept {
    own_ = experiment_.rested().rate();
    if (spared_ < kSpared && terms.cores.free() < terms.cores.max()) {
        ++spared_;
    } else if (duty_ > terms.min) {
        ceiling_ = duty_;
        duty_ = std::max(terms.min, duty_ * kDecrease);
    } else {
        // Threads and duty cycle are at their minimum: another experiment would only cost compute time.
        experiment_.put_off(now);
        return;
    }
    grown_at_ = now;
    probe_wait_ = std::clamp(2 * probe_wait_, kMinProbeWait, kMaxProbeWait);
    probe_at_ = now + probe_wait_;
    experiment_.hurry(now);
}

void DutyController::acquit(std::int64_t now) noexcept {
    const auto& rested = experiment_.rested();
    const auto& ran = experiment_.ran();
    own_ = FrameTally{rested.frames + ran.frames, rested.missed + ran.missed}.rate();
    experiment_.put_off(now);
}

std::int64_t rest_of(double duty, std::int64_t took) noexcept {
    constexpr double kLongest = 200'000'000;
    return static_cast<std::int64_t>(std::min(static_cast<double>(took) * (1 - duty) / duty, kLongest));
}

} // namespace sotto
