// The queue on which an engine's host hears of its requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/request/release.hpp"

namespace sotto {

// The control thread pushes; the host takes, and allocates and frees nothing: events that it has
// seen go back to the control thread, which frees them.
class EventQueue {
public:
    ~EventQueue();

    void push(std::unique_ptr<Event> event) noexcept;

    // Hands the oldest event that is due to `use`; it stays until the next call. False when there is
    // none, or while another thread is in here.
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

    // Whether an event is due, and if none is, when one will be by itself. While another thread is in
    // here: soon.
    bool has(std::int64_t now, std::int64_t& wake) noexcept;

    // Frees what the host has seen. The control thread's.
    void recycle() noexcept;

    Signal& arrived() noexcept { return arrived_; }

private:
    void admit() noexcept; // taking_ is held, as for the next
    const Event* next(const Clock& clock) noexcept;

    MpscQueue<Event> ready_;
    MpscQueue<Event> seen_;
    Signal arrived_;
    std::atomic_flag taking_;
    Release release_;          // guarded by taking_
    Event* current_ = nullptr; // guarded by taking_
};

} // namespace sotto
