#include "core/schedule/duty_experiment.hpp"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

constexpr std::int64_t kExperimentSecond = 1'000'000'000;
constexpr std::uint32_t kFramesRested = 4; // frames of a block without models
constexpr std::uint32_t kFramesRun = 12;   // frames of a block with models
constexpr std::uint32_t kRunInTheWay = 8;
constexpr std::uint32_t kMaxRun = 240;      // frames with models, after which an experiment ends
constexpr std::uint32_t kClearlyMissed = 4; // minimum missed frames with models, for at_fault
constexpr std::uint32_t kMaxUnclear = 60;
constexpr double kSureFault = 3; // standard deviations between the two rates
constexpr double kSureFaultInTheWay = 1.5;
// Standard deviations; an experiment with fewer after half of kMaxRun ends as not_at_fault.
constexpr double kHopelessExperiment = 1;
constexpr std::int64_t kExperimentsApart = 10 * kExperimentSecond;
constexpr std::int64_t kRarestExperiment = 60 * kExperimentSecond;

} // namespace

void DutyExperiment::begin(std::int64_t now) noexcept {
    if (now >= next_) {
        on_ = rests_ = true;
        in_block_ = unclear_ = 0;
        rested_ = ran_ = {};
    }
}

// Does not count the first frame of each block, because the previous block still affects that frame.
DutyExperiment::Verdict DutyExperiment::add(const Frame& frame, Beside beside, bool yields) noexcept {
    if (beside != (rests_ ? Beside::rested : Beside::ran)) {
        // Models do not run, as no stream decodes any more, or do not pause, as a step does not end.
        on_ = ++unclear_ != kMaxUnclear;
        return on_ ? Verdict::open : Verdict::unclear;
    }
    if (in_block_++ > 0) {
        (rests_ ? rested_ : ran_).add(frame.missed);
    }
    if (in_block_ < (rests_ ? kFramesRested : yields ? kFramesRun : kRunInTheWay)) {
        return Verdict::open;
    }
    rests_ = !rests_;
    in_block_ = unclear_ = 0;
    const auto verdict = rests_ ? judge(yields) : Verdict::open;
    on_ = verdict == Verdict::open;
    return verdict;
}

DutyExperiment::Verdict DutyExperiment::judge(bool yields) const noexcept {
    const FrameTally both{ran_.frames + rested_.frames, ran_.missed + rested_.missed};
    const auto all = both.rate();
    const auto variance = std::max(all * (1 - all), 1.0 / both.frames);
    const auto scatter = std::sqrt(variance * (1.0 / ran_.frames + 1.0 / rested_.frames));
    const auto sure = (ran_.rate() - rested_.rate()) / scatter;
    if (sure > (yields ? kSureFault : kSureFaultInTheWay) && ran_.missed >= kClearlyMissed) {
        return Verdict::at_fault;
    }
    const bool is_hopeless =
        ran_.frames >= kMaxRun || (ran_.frames >= kMaxRun / 2 && sure < kHopelessExperiment);
    return is_hopeless ? Verdict::not_at_fault : Verdict::open;
}

void DutyExperiment::put_off(std::int64_t now) noexcept {
    interval_ = std::clamp(2 * interval_, kExperimentsApart, kRarestExperiment);
    next_ = now + interval_;
}

void DutyExperiment::hurry(std::int64_t now) noexcept {
    interval_ = 0;
    next_ = now;
}

} // namespace sotto
