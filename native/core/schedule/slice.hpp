// A slice: one job for the compute thread, and the limits on its cost.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/scheduled.hpp"

namespace sotto {

// One job of bounded cost for streams of one model.
struct Slice {
    enum class Kind : std::uint8_t {
        none,
        open,   // open one stream
        unpark, // resume one parked stream
        step    // prefill and decode for several streams
    };

    struct Share {
        ScheduledStream* stream;
        std::uint32_t tokens;
    };

    Kind kind = Kind::none;
    std::vector<Share> shares;
    ScheduledStream* parks = nullptr; // stream to preempt before the slice runs; null if none
    StepLoad load;
    std::int64_t limit = 0;     // time limit in ns; 0: none
    std::int64_t predicted = 0; // predicted time in ns; 0: unknown

    ScheduledModel& model() const { return shares.front().stream->model; }
};

// Limits for a slice.
struct Limits {
    std::int64_t time = 0; // ns, for a step that prefills
    bool apart = false;    // one stream per step, prompts in chunks at fixed offsets
};

} // namespace sotto
