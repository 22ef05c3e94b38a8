// Adds finished jobs, pauses of models and the game's frames to the trace, and jobs to the statistics.
#pragma once

#include <cstdint>

#include "core/control/compute.hpp"
#include "core/telemetry/meter.hpp"
#include "core/telemetry/trace.hpp"

namespace sotto {

// Control thread only.
class SliceLog {
public:
    SliceLog(Trace& trace, Meter& meter) : trace_(trace), meter_(meter) {}

    // Returns true if the host enabled the trace.
    bool has_trace() const noexcept { return trace_.is_kept(); }

    // Adds a finished job, and its waits at gates. Skips jobs without streams.
    void add(const Job& job) noexcept;
    // Adds a pause of all models. `share`: the share of the time that models get.
    void add_rest(std::int64_t begin, std::int64_t end, sotto_mode mode, double share) noexcept;
    // Adds a frame of the game.
    void add_frame(const Frame& frame, sotto_mode mode, double share) noexcept;

private:
    Trace& trace_;
    Meter& meter_;
};

} // namespace sotto
