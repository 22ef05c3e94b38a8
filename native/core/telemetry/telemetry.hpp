// The telemetry of an engine: trace, statistics and recording.
#pragma once

#include <cstdint>

#include "core/settings.hpp"
#include "core/telemetry/meter.hpp"
#include "core/telemetry/recorder.hpp"
#include "core/telemetry/trace.hpp"

namespace sotto {

struct Telemetry {
    // `slices`: capacity of the trace.
    Telemetry(std::uint32_t slices, const Hooks& hooks) : trace(slices), recorder(hooks) {}

    Trace trace;
    Meter meter;
    Recorder recorder;
};

} // namespace sotto
