// Starts spilling the KV cache of parked streams to disk.
#pragma once

#include <cstdint>

#include "core/control/thread_class_policy.hpp"
#include "core/settings.hpp"
#include "core/state/kv_state_store.hpp"
#include "core/state/spill_worker.hpp"

namespace sotto {

// Control thread only.
class StateSpiller {
public:
    // `spilled`: notified when KV cache was spilled to disk.
    StateSpiller(
        const Hooks& hooks,
        const Settings& settings,
        KvStateStore& kv_states,
        const ThreadClassPolicy& classes,
        Signal& spilled
    )
        : settings_(settings), kv_states_(kv_states), classes_(classes), worker_(hooks, kv_states, spilled) {}

    // Returns true if spill() would start now, or memory is being freed already.
    bool can_make_room() const noexcept { return !worker_.is_busy() || worker_.makes_room(); }
    // Starts spilling parked KV cache from memory to disk until
    // `bytes` are freed. Does nothing if the spill thread is at work.
    void spill(std::uint64_t bytes) {
        if (!worker_.is_busy()) {
            worker_.begin(classes_.usual(), bytes);
        }
    }
    // Starts spilling parked KV cache in advance if it takes more memory than
    // is left for it, so that the next stream can be parked without a wait.
    void tidy() {
        if (!worker_.is_busy() && kv_states_.is_untidy()) {
            worker_.begin(settings_.prioritizes_compute() ? ThreadClass::normal : ThreadClass::idle, 0);
        }
    }

private:
    const Settings& settings_;
    KvStateStore& kv_states_;
    const ThreadClassPolicy& classes_;
    SpillWorker worker_;
};

} // namespace sotto
