// What the compute thread does next, and what that may cost.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/scheduled.hpp"

namespace sotto {

// One piece of work of bounded cost, for streams of one model.
struct Slice {
    enum class Kind : std::uint8_t {
        none,
        open,   // make the prompt of one stream
        unpark, // give one stream its place again
        step    // work for the streams, each with its share of prompt tokens
    };

    struct Share {
        ScheduledStream* stream;
        std::uint32_t tokens;
    };

    Kind kind = Kind::none;
    std::vector<Share> shares;
    ScheduledStream* parks = nullptr; // to give up its place first
    StepLoad load;
    std::int64_t limit = 0;     // what it is to keep within; 0: nothing
    std::int64_t predicted = 0; // 0: nothing is known

    ScheduledModel& model() const { return shares.front().stream->model; }
};

// What a slice may cost.
struct Limits {
    std::int64_t time = 0; // for a step that works through prompts
    bool apart = false;    // each stream for itself, prompts in pieces that are always the same
};

} // namespace sotto
