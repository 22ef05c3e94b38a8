// Does with what is parked what takes its time, so that nobody who speaks waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "core/settings.hpp"
#include "core/state/kv_state_store.hpp"
#include "platform/signal.hpp"
#include "platform/thread.hpp"

namespace sotto {

// The control thread's alone.
class SpillWorker {
public:
    // `told` is told when it is done.
    SpillWorker(const Hooks& hooks, KvStateStore& parking, Signal& told)
        : hooks_(hooks), parking_(parking), told_(told) {}
    // Waits for what it is at: one state is packed, or written, at most.
    ~SpillWorker();

    bool is_busy() const noexcept { return busy_.load(std::memory_order_acquire); }
    bool makes_room() const noexcept { return makes_room_.load(std::memory_order_acquire); }
    // Makes so many bytes of room first, which a budget waits for; then tidies up, on a thread of that class.
    // Not while it is busy. Throws where there is no thread to be had.
    void begin(ThreadClass thread_class, std::uint64_t room);

private:
    void work(ThreadClass thread_class, std::uint64_t room) noexcept;

    const Hooks& hooks_;
    KvStateStore& parking_;
    Signal& told_;
    std::atomic<bool> busy_{false};
    std::atomic<bool> makes_room_{false};
    std::thread thread_; // of its own each time: threads that went idle may not come back
};

} // namespace sotto
