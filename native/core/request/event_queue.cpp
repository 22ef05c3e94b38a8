#include "core/request/event_queue.hpp"

namespace sotto {

EventQueue::~EventQueue() {
    release_.clear();
    recycle();
    delete current_;
    while (Event* event = ready_.pop()) {
        delete event;
    }
}

void EventQueue::push(std::unique_ptr<Event> event) noexcept {
    ready_.push(event.release());
    arrived_.notify();
}

void EventQueue::admit() noexcept {
    while (Event* event = ready_.pop()) {
        release_.admit(event, seen_);
    }
}

const Event* EventQueue::next(const Clock& clock) noexcept {
    admit();
    Event* next = release_.is_idle() ? nullptr : release_.next(clock.now());
    if (next != nullptr) {
        if (current_ != nullptr) {
            seen_.push(current_);
        }
        current_ = next;
    }
    return next;
}

bool EventQueue::has(std::int64_t now, std::int64_t& wake) noexcept {
    constexpr std::int64_t kSoon = 1'000'000;
    if (taking_.test_and_set(std::memory_order_acquire)) {
        wake = now + kSoon;
        return false;
    }
    admit();
    const bool has = release_.has(now);
    wake = release_.wake();
    taking_.clear(std::memory_order_release);
    return has;
}

void EventQueue::recycle() noexcept {
    while (Event* event = seen_.pop()) {
        delete event;
    }
}

} // namespace sotto
