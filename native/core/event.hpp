// What happened to a request, and the queue on which an engine's host hears of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <sotto/request.h>

#include "base/mpsc_queue.hpp"
#include "platform/signal.hpp"

namespace sotto {

struct Event : MpscNode {
    sotto_event_kind kind = 0;
    sotto_request request = 0;
    std::uint64_t user = 0;
    std::string text;
    std::string json;
    sotto_status status = SOTTO_OK;
    std::uint32_t tokens = 0;
    float progress = 0;
    std::uint32_t index = 0;
};

// The control thread pushes; the host takes, and allocates and frees nothing: events that it has
// seen go back to the control thread, which frees them.
class EventQueue {
public:
    ~EventQueue();

    void push(std::unique_ptr<Event> event) noexcept;

    // Hands the oldest event to `use`; it stays until the next call. False when there is none, or
    // while another thread is in here.
    template <typename Use>
    bool take(Use&& use) noexcept {
        if (taking_.test_and_set(std::memory_order_acquire)) {
            return false;
        }
        const Event* event = next();
        if (event != nullptr) {
            use(*event);
        }
        taking_.clear(std::memory_order_release);
        return event != nullptr;
    }

    // Frees what the host has seen. The control thread's.
    void recycle() noexcept;

    bool empty() const noexcept { return waiting_.load(std::memory_order_seq_cst) <= 0; }
    Signal& arrived() noexcept { return arrived_; }

private:
    const Event* next() noexcept; // taking_ is held

    MpscQueue<Event> ready_;
    MpscQueue<Event> seen_;
    Signal arrived_;
    std::atomic<std::int64_t> waiting_{0}; // pushed and not taken; below 0 for a moment
    std::atomic_flag taking_;
    Event* current_ = nullptr; // guarded by taking_
};

} // namespace sotto
