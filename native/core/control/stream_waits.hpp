// Streams whose backend waits for something outside of the engine, such as a server.
#pragma once

#include <cstdint>
#include <vector>

#include "core/control/stream.hpp"
#include "module/waker.hpp"
#include "platform/clock.hpp"

namespace sotto {

// A stream that waits takes part in no step. Control thread only.
class StreamWaits {
public:
    StreamWaits(const Waker& waker, const Clock& clock) : waker_(waker), clock_(clock) {}

    // Number of wake-ups so far. Read before a step, so that a wake-up during the step is noticed.
    std::uint32_t wakes() const noexcept { return waker_.count(); }
    // Makes a stream wait for `wait_ms`, or until its backend wakes the engine. No effect if that happened
    // since `wakes`. Throws std::bad_alloc without any effect.
    void add(Stream& stream, std::uint32_t wait_ms, std::uint32_t wakes);
    // Ends the wait of streams whose time is over and, after a wake-up, of all streams. Returns true if there
    // were any.
    bool take_done() noexcept;
    // Returns the earliest time at which a wait ends by itself; kNever: no stream waits.
    std::int64_t next_timeout() const noexcept;
    // Removes a stream that is about to be freed.
    void remove(const Stream& stream) noexcept;

private:
    struct Wait {
        Stream* stream;
        std::int64_t until;
    };

    const Waker& waker_;
    const Clock& clock_;
    std::vector<Wait> waits_;
    std::uint32_t seen_ = 0; // wake-ups that take_done() has handled
};

} // namespace sotto
