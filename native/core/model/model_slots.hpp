// Slots of a model that are to be closed, or that pinned sessions keep.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/state/kv_state_store.hpp"

namespace sotto {

struct Session;

// A stream for the compute thread to close.
struct Closing {
    void* handle = nullptr;
    std::shared_ptr<Session> session; // session that keeps the KV cache; null if none
    bool pinned = false;              // true if the session is pinned
    KvStateStore::Kept kept;          // output: the saved KV cache
    std::uint64_t group = 0;          // adapter group of the stream
};

// Slot of a pinned session between its requests.
struct PinnedSlot {
    std::shared_ptr<Session> session;
    void* handle = nullptr; // the session's last stream, which has ended; null if parked
    std::int32_t slot = -1; // number of the slot, while `handle` is not null; -1: unknown
};

// Control thread only.
struct ModelSlots {
    std::vector<Closing> closing;   // streams for the compute thread to close
    std::vector<PinnedSlot> pinned; // in LRU order; each counts as an open stream
};

} // namespace sotto
