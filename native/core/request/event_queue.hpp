// The queue through which the host receives events.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/request/paced_queue.hpp"

namespace sotto {

// The control thread pushes events, the host takes them. take() neither allocates nor frees memory: events
// that the host has seen return to the control thread, which frees them.
class EventQueue {
public:
    ~EventQueue();

    void push(std::unique_ptr<Event> event) noexcept;

    // Passes the oldest event that is due to `use`; the event stays valid until the next call. Returns false
    // if no event is due, or while another thread is in this function.
    template <typename Use>
    bool take(const Clock& clock, Use&& use) noexcept {
        if (taking_.test_and_set(std::memory_order_acquire)) {
            return false;
        }
        const Event* event = next(clock);
        if (event != nullptr) {
            use(*event);
        }
        taking_.clear(std::memory_order_release);
        return event != nullptr;
    }

    // Returns true if an event is due. Otherwise sets `wake` to the time when one will be due without further
    // input; to 1 ms after `now` if another thread is taking events.
    bool has(std::int64_t now, std::int64_t& wake) noexcept;

    // Frees the events that the host has seen. Control thread only.
    void recycle() noexcept;

    Signal& arrived() noexcept { return arrived_; }

private:
    void admit() noexcept; // admit() and next(): the caller must have set taking_
    const Event* next(const Clock& clock) noexcept;

    MpscQueue<Event> ready_;
    MpscQueue<Event> seen_;
    Signal arrived_;
    std::atomic_flag taking_;
    PacedQueue release_;       // guarded by taking_
    Event* current_ = nullptr; // guarded by taking_
};

} // namespace sotto
