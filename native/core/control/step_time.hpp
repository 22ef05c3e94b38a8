// Time limits of steps, and updates of the cost model from measured times.
#pragma once

#include <cstdint>

#include "core/control/compute.hpp"
#include "core/telemetry/recorder.hpp"

namespace sotto {

// An idle-class step is stalled if it reaches no gate for this long, in ns.
constexpr std::int64_t kStandstill = 150'000'000;

// Time in ns after which a step is aborted and repeated on fewer threads; 0: never.
std::int64_t patience_of(const Job& job, bool deterministic) noexcept;

// Updates the cost model and the thread count of the job's model from a step.
void learn_step(const Job& job, Recorder& recorder) noexcept;

} // namespace sotto
