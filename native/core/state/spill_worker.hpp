// Packs and spills KV cache states on a separate thread, so that decoding streams do not wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "core/settings.hpp"
#include "core/state/kv_state_store.hpp"
#include "platform/signal.hpp"
#include "platform/thread.hpp"

namespace sotto {

// Control thread only.
class SpillWorker {
public:
    // Notifies `told` when a run ends, and when memory was freed for the budget.
    SpillWorker(const Hooks& hooks, KvStateStore& kv_states, Signal& told)
        : hooks_(hooks), kv_states_(kv_states), told_(told) {}
    // Stops tidying and waits for the run to end: at most one more state is packed or written.
    ~SpillWorker();

    bool is_busy() const noexcept { return thread_.joinable() && !ended_.load(std::memory_order_acquire); }
    bool makes_room() const noexcept { return is_busy() && makes_room_.load(std::memory_order_acquire); }
    // Starts a run: first frees `room` bytes, which a budget change waits for, then calls
    // KvStateStore::tidy() in the scheduling class `thread_class`. Must not be called while is_busy(). Throws
    // if no thread can be started.
    void begin(ThreadClass thread_class, std::uint64_t room);

private:
    void work(ThreadClass thread_class, std::uint64_t room) noexcept;

    const Hooks& hooks_;
    KvStateStore& kv_states_;
    Signal& told_;
    std::atomic<bool> ended_{false}; // the last run has ended
    std::atomic<bool> makes_room_{false};
    std::thread thread_; // new for each run: a thread cannot leave the idle class
};

} // namespace sotto
