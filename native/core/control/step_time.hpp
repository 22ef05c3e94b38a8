// How long steps may take, and what is learned from how long they took.
#pragma once

#include <cstdint>

#include "core/control/compute.hpp"
#include "core/telemetry/recorder.hpp"

namespace sotto {

// A step of the idle class stands still if it comes to no gate for so long.
constexpr std::int64_t kStandstill = 150'000'000;

// After how long a step is given up, to be taken again on fewer threads; 0: never.
std::int64_t patience_of(const Job& job, bool deterministic) noexcept;

// Has the job's model learn from a step: what the next steps take, and on how many threads they go best.
void learn_step(const Job& job, Recorder& recorder) noexcept;

} // namespace sotto
