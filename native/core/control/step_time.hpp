// Limits the duration of steps, and learns from measured durations.
#pragma once

#include <cstdint>

#include "core/control/compute.hpp"
#include "core/telemetry/recorder.hpp"

namespace sotto {

// A step of the idle class is stalled if it reaches no gate for this time, in ns.
constexpr std::int64_t kStandstill = 150'000'000;

// Returns the time in ns after which a step ends early,
// to be repeated on fewer threads; 0: no limit.
std::int64_t patience_of(const Job& job, bool deterministic) noexcept;

// Updates the job's model from a finished step: its
// predicted step times, and its best number of threads.
void learn_step(const Job& job, Recorder& recorder) noexcept;

} // namespace sotto
