// Reads spilled KV cache back into memory before the streams that need it get a slot.
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
    StateFetches(KvStateStore& kv_states, const Clock& clock) : kv_states_(kv_states), clock_(clock) {}

    // Called for a stream that is about to get a slot. `state`: the saved KV cache to restore, or null.
    // Starts reading the state unless too many reads are under way. Returns true if the stream must wait:
    // the stream is `busy` meanwhile, and other streams continue. If the read takes longer than a second,
    // the stream continues without the state, and is prefilled again.
    bool must_wait(Stream& stream, const KvStateStore::Kept& state);
    // Ends the wait of streams whose read is done or has timed out, or may start now.
    // Returns true if there were any.
    bool take_done() noexcept;
    // Returns the earliest time at which a read times out; kNever: no stream waits for a read.
    std::int64_t next_timeout() const noexcept;
    // Removes a stream that is about to be freed.
    void remove(const Stream& stream) noexcept { std::erase(streams_, &stream); }

private:
    bool may_go_on(const Stream& stream) noexcept;

    KvStateStore& kv_states_;
    const Clock& clock_;
    std::vector<Stream*> streams_;
};

} // namespace sotto
