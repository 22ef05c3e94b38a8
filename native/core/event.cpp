#include "core/event.hpp"

namespace sotto {

EventQueue::~EventQueue() {
    recycle();
    delete current_;
    while (Event* event = ready_.pop()) {
        delete event;
    }
}

void EventQueue::push(std::unique_ptr<Event> event) noexcept {
    ready_.push(event.release());
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    arrived_.notify();
}

const Event* EventQueue::next() noexcept {
    Event* next = ready_.pop();
    if (next != nullptr) {
        waiting_.fetch_sub(1, std::memory_order_seq_cst);
        if (current_ != nullptr) {
            seen_.push(current_);
        }
        current_ = next;
    }
    return next;
}

void EventQueue::recycle() noexcept {
    while (Event* event = seen_.pop()) {
        delete event;
    }
}

} // namespace sotto
