// Decides what the compute thread does next.
#pragma once

#include <cstdint>
#include <vector>

#include "core/stream.hpp"

namespace sotto {

// One piece of work of bounded cost, for streams of one model.
struct Slice {
    enum class Kind : std::uint8_t {
        none,
        open, // make the prompt of one stream
        step  // work for the streams, each with its share of prompt tokens
    };

    struct Share {
        Stream* stream;
        std::uint32_t tokens;
    };

    Kind kind = Kind::none;
    std::vector<Share> shares;

    ModelEntry& entry() const { return shares.front().stream->entry; }
};

// What a slice may cost.
struct Limits {
    std::uint32_t prompt_tokens = 0; // for all its shares together
};

// The control thread's alone.
class Scheduler {
public:
    virtual ~Scheduler() = default;

    virtual void add(Stream& stream) = 0;
    virtual void remove(Stream& stream) = 0;

    // What to do now; Kind::none if nothing is due.
    virtual Slice next(std::int64_t now, const Limits& limits) = 0;

    // Whether the streams of the step under way, those that are busy, will all be due as soon as it has
    // ended, and nothing else is due before them.
    virtual bool goes_on(std::int64_t now) const = 0;

    // When something will be due by itself; kNever if nothing will.
    virtual std::int64_t wake() const = 0;
};

} // namespace sotto
