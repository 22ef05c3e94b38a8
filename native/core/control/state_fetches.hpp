// Reads spilled KV cache back from disk before its streams get a slot.
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

    // Called for a stream that is about to get a slot. `state`: the KV cache to restore,
    // or null. Starts reading a state that is on disk. Returns true if the stream must
    // wait for that: it is `busy` meanwhile, and other streams continue. After one
    // second the stream continues without the state, and is prefilled again.
    bool must_wait(Stream& stream, const KvStateStore::Kept& state);
    // Lets streams continue whose states were read. Returns true if there were any.
    bool take_done() noexcept;
    // Returns when the next stream continues without its state; kNever: no stream waits.
    std::int64_t next_timeout() const noexcept;
    // Removes a stream that ends.
    void remove(const Stream& stream) noexcept { std::erase(streams_, &stream); }

private:
    bool may_go_on(const Stream& stream) noexcept;

    KvStateStore& kv_states_;
    const Clock& clock_;
    std::vector<Stream*> streams_;
};

} // namespace sotto
