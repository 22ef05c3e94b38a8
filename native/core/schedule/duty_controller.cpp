#include "core/schedule/duty_controller.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sotto {
namespace {

constexpr std::int64_t kDutySecond = 1'000'000'000;
constexpr std::uint32_t kFramesLookedAt = 120; // that are looked at together
constexpr std::uint32_t kManyMissed = 6;       // missed ones, that are looked at at once
constexpr double kTolerance = 0.01;            // so that p99 keeps the period
constexpr double kLookChance = 2;              // standard deviations

constexpr std::uint32_t kFramesRested = 4; // frames of a block in which models rest
constexpr std::uint32_t kFramesRun = 12;   // likewise, in which they run
constexpr std::uint32_t kRunInTheWay = 8;
constexpr std::uint32_t kMaxRun = 240;      // frames beside models, after which an experiment ends
constexpr std::uint32_t kClearlyMissed = 4; // missed beside models, at least, for them to be at fault
constexpr std::uint32_t kMaxUnclear = 60;
constexpr double kSureFault = 3; // standard deviations between the two
constexpr double kSureFaultInTheWay = 1.5;
constexpr double kHopelessExperiment = 1; // half way: fewer, and nothing will come of it
constexpr std::int64_t kExperimentsApart = 10 * kDutySecond;
constexpr std::int64_t kRarestExperiment = 60 * kDutySecond;

constexpr std::uint32_t kSpared = 2; // steps from all threads to as many as there are free cores
constexpr double kDecrease = 0.6;
constexpr double kIncrease = 0.05;
constexpr double kSafe = 0.9; // of where models were at fault
constexpr std::int64_t kGrowEvery = kDutySecond;
constexpr std::uint32_t kProbe = 8; // frames
constexpr std::int64_t kMinProbeWait = kDutySecond;
constexpr std::int64_t kMaxProbeWait = 4 * kDutySecond;
constexpr double kFollowing = 0.1; // of the difference, where the game misses fewer by itself than before

double rate_of(std::uint32_t missed, std::uint32_t frames) noexcept {
    return frames == 0 ? 0 : static_cast<double>(missed) / frames;
}

} // namespace

void DutyController::frame(const Frame& frame, Beside beside, const Terms& terms) noexcept {
    duty_ = std::max(duty_, terms.min);
    if (experiment_.on) {
        experiment(frame, beside, terms);
        return;
    }
    grow(frame);
    ++seen_.frames;
    seen_.missed += frame.missed ? 1 : 0;
    if (seen_.frames >= kFramesLookedAt || seen_.missed >= kManyMissed) {
        look(frame.end);
        seen_ = {};
    }
}

void DutyController::look(std::int64_t now) noexcept {
    const auto rate = rate_of(seen_.missed, seen_.frames);
    const auto usual = std::max(own_, kTolerance);
    const auto chance = kLookChance * std::sqrt(usual * (1 - usual) / seen_.frames);
    if (seen_.missed > 1 && rate > own_ + kTolerance + chance) {
        if (now >= next_) {
            experiment_ = {};
            experiment_.on = experiment_.rests = true;
        }
        return;
    }
    own_ += std::min(0.0, kFollowing * (rate - own_));
}

// Gives back some of what was cut, while no frame is missed.
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

// The first frame of each block is neither one nor the other: what ran before still echoes in it.
void DutyController::experiment(const Frame& frame, Beside beside, const Terms& terms) noexcept {
    auto& rests = experiment_.rests;
    auto& in_block = experiment_.in_block;
    if (beside != (rests ? Beside::rested : Beside::ran)) {
        if (++experiment_.unclear == kMaxUnclear) { // nobody speaks any more, or a step does not end
            experiment_ = {};
            put_off(frame.end);
        }
        return;
    }
    if (in_block++ > 0) {
        auto& arm = rests ? experiment_.rested : experiment_.ran;
        ++arm.frames;
        arm.missed += frame.missed ? 1 : 0;
    }
    if (in_block < (rests ? kFramesRested : terms.yields ? kFramesRun : kRunInTheWay)) {
        return;
    }
    rests = !rests;
    in_block = experiment_.unclear = 0;
    if (rests) {
        judge(terms, frame.end);
    }
}

void DutyController::judge(const Terms& terms, std::int64_t now) noexcept {
    const auto& rested = experiment_.rested;
    const auto& ran = experiment_.ran;
    const auto frames = ran.frames + rested.frames;
    const auto all = rate_of(ran.missed + rested.missed, frames);
    const auto variance = std::max(all * (1 - all), 1.0 / frames);
    const auto scatter = std::sqrt(variance * (1.0 / ran.frames + 1.0 / rested.frames));
    const auto sure = (rate_of(ran.missed, ran.frames) - rate_of(rested.missed, rested.frames)) / scatter;
    if (sure > (terms.yields ? kSureFault : kSureFaultInTheWay) && ran.missed >= kClearlyMissed) {
        blame(terms, now);
    } else if (ran.frames >= kMaxRun || (ran.frames >= kMaxRun / 2 && sure < kHopelessExperiment)) {
        acquit(now);
    }
}

std::uint32_t DutyController::threads(const Cores& cores) const noexcept {
    const auto max = cores.max();
    const auto free = std::min(cores.free(), max);
    return spared_ == 0 || probes() ? max : spared_ < kSpared ? (max + free) / 2 : free;
}

void DutyController::blame(const Terms& terms, std::int64_t now) noexcept {
    own_ = rate_of(experiment_.rested.missed, experiment_.rested.frames);
    experiment_ = {};
    if (spared_ < kSpared && terms.cores.free() < terms.cores.max()) {
        ++spared_;
    } else if (duty_ > terms.min) {
        ceiling_ = duty_;
        duty_ = std::max(terms.min, duty_ * kDecrease);
    } else {
        put_off(now); // models have their least, and another experiment would take from that
        return;
    }
    grown_at_ = now;
    probe_wait_ = std::clamp(2 * probe_wait_, kMinProbeWait, kMaxProbeWait);
    probe_at_ = now + probe_wait_;
    interval_ = 0;
    next_ = now;
}

void DutyController::acquit(std::int64_t now) noexcept {
    const auto& rested = experiment_.rested;
    const auto& ran = experiment_.ran;
    own_ = rate_of(rested.missed + ran.missed, rested.frames + ran.frames);
    experiment_ = {};
    put_off(now);
}

void DutyController::put_off(std::int64_t now) noexcept {
    interval_ = std::clamp(2 * interval_, kExperimentsApart, kRarestExperiment);
    next_ = now + interval_;
}

std::int64_t rest_of(double duty, std::int64_t took) noexcept {
    constexpr double kLongest = 200'000'000;
    return static_cast<std::int64_t>(std::min(static_cast<double>(took) * (1 - duty) / duty, kLongest));
}

} // namespace sotto
