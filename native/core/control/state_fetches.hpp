// Streams whose KV cache was spilled to disk and is read back before they get a slot.
#pragma once

#include <cstdint>
#include <vector>

#include "core/control/stream.hpp"
#include "core/state/kv_state_store.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Control thread only.
class StateFetches {
public:
    StateFetches(KvStateStore& parking, const Clock& clock) : parking_(parking), clock_(clock) {}

    // Called for a stream that is about to get a slot; `state`: what it recalls, or null. Starts to read a
    // state that is on disk. Returns true if the stream has to wait for that; it is `busy` meanwhile, and
    // other streams go on. After a second it goes on without the state: its text is prefilled again.
    bool must_wait(Stream& stream, const KvStateStore::Kept& state);
    // Lets streams go on whose states were read. Returns true if there were any.
    bool take_done() noexcept;
    // When the next stream goes on without its state; kNever: no stream waits.
    std::int64_t next_timeout() const noexcept;
    // Drops a stream that ends.
    void remove(const Stream& stream) noexcept { std::erase(streams_, &stream); }

private:
    bool may_go_on(const Stream& stream) noexcept;

    KvStateStore& parking_;
    const Clock& clock_;
    std::vector<Stream*> streams_;
};

} // namespace sotto
