// What an engine measures and records of its work.
#pragma once

#include "core/telemetry/meter.hpp"
#include "core/telemetry/recorder.hpp"
#include "core/telemetry/trace.hpp"

namespace sotto {

struct Telemetry {
    Trace trace;
    Meter meter;
    Recorder recorder;
};

} // namespace sotto
