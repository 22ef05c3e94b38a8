// Streams that must have a slot by its number, and wait until that slot is free.
#pragma once

#include <vector>

#include "core/control/stream_table.hpp"

namespace sotto {

// Control thread only.
class SlotWaits {
public:
    explicit SlotWaits(const StreamTable& streams) : streams_(streams) {}

    // Returns true, and makes the stream `busy`, if another stream has the slot that the request names.
    // `parks`: a stream that gives up its slot first; may be null.
    bool must_wait(Stream& stream, const ScheduledStream* parks);
    // Lets the scheduler consider the streams again whose slots are free. Returns true if there are any.
    bool take_free() noexcept;
    // Called before a stream is freed.
    void remove(const Stream& stream) noexcept { std::erase(waiting_, &stream); }

private:
    bool is_taken(const Stream& stream, const ScheduledStream* parks) const noexcept;

    const StreamTable& streams_;
    std::vector<Stream*> waiting_;
};

} // namespace sotto
