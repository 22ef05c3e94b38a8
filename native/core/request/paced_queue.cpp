#include "core/request/paced_queue.hpp"

#include <utility>

namespace sotto {

void EventList::push(Event* event) noexcept {
    event->after = nullptr;
    (first_ == nullptr ? first_ : last_->after) = event;
    last_ = event;
}

Event* EventList::pop() noexcept {
    Event* event = first_;
    if (event != nullptr) {
        first_ = event->after;
    }
    return event;
}

RequestEvents::RequestEvents(std::uint32_t count, float tps, const std::atomic<float>& everybodys)
    : own_tps(tps) {
    answers.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        answers.push_back(std::make_unique<ChoiceEvents>(*this, own_tps, everybodys));
    }
}

void PacedQueue::admit(Event* event, MpscQueue<Event>& unwanted) noexcept {
    if (event->lane != nullptr) {
        hold(*event->lane, event);
        return;
    }
    RequestEvents* events = event->of;
    if (events != nullptr && event->kind == SOTTO_EVENT_REQUEST_DONE && event->status < 0) {
        cut_off(*events, unwanted, event->status != SOTTO_ERROR_CANCELLED);
    }
    if (events != nullptr && events->held > 0) {
        events->after.push(event);
    } else {
        due_.push(event);
    }
}

void PacedQueue::hold(ChoiceEvents& lane, Event* event) noexcept {
    if (lane.events.empty() && lane.pacer.rate() <= 0) {
        lane.pacer.tell(event->tokens, event->made_ns, event->made_ns, 0);
        due_.push(event);
        return;
    }
    if (lane.events.empty()) {
        lane.next = std::exchange(lanes_, &lane);
    }
    lane.events.push(event);
    ++lane.of.held;
    wake_ = INT64_MIN; // unknown until release()
}

// Called when a request ends early: delivers its remaining paced events at once if `wanted`, otherwise drops
// them.
void PacedQueue::cut_off(RequestEvents& events, MpscQueue<Event>& unwanted, bool wanted) noexcept {
    for (ChoiceEvents** at = &lanes_; *at != nullptr;) {
        ChoiceEvents& lane = **at;
        if (&lane.of != &events) {
            at = &lane.next;
            continue;
        }
        *at = std::exchange(lane.next, nullptr);
        while (Event* event = lane.events.pop()) {
            --events.held;
            wanted ? due_.push(event) : unwanted.push(event);
        }
    }
    while (Event* event = events.after.pop()) {
        wanted ? due_.push(event) : unwanted.push(event);
    }
}

Event* PacedQueue::next(std::int64_t now) noexcept {
    return has(now) ? due_.pop() : nullptr;
}

bool PacedQueue::has(std::int64_t now) noexcept {
    constexpr std::int64_t kStale = 1'000'000; // ns; after this, a changed rate may have changed due times
    if (due_.empty() && lanes_ != nullptr) {
        const bool looks = wake_ <= now || now - looked_ >= kStale || now < looked_;
        note_gap(now);
        if (looks) {
            looked_ = now;
            release(now);
        }
    }
    return !due_.empty();
}

void PacedQueue::release(std::int64_t now) noexcept {
    wake_ = INT64_MAX;
    for (ChoiceEvents** at = &lanes_; *at != nullptr;) {
        ChoiceEvents& lane = **at;
        let_go(lane, now);
        if (lane.events.empty()) {
            *at = std::exchange(lane.next, nullptr);
            continue;
        }
        const Event& first = *lane.events.front();
        wake_ = std::min(wake_, lane.pacer.due(first.tokens, first.made_ns));
        at = &lane.next;
    }
}

void PacedQueue::let_go(ChoiceEvents& lane, std::int64_t now) noexcept {
    constexpr std::int64_t kAlways = 20'000'000; // ns; a shorter delay is never treated as lateness
    const auto late = std::max(kAlways, 3 * gap_);
    while (Event* event = lane.events.front()) {
        if (lane.pacer.due(event->tokens, event->made_ns) > now) {
            return;
        }
        lane.pacer.tell(event->tokens, event->made_ns, now, late);
        due_.push(lane.events.pop());
        if (--lane.of.held == 0) {
            while (Event* last = lane.of.after.pop()) {
                due_.push(last);
            }
        }
    }
}

// Updates the moving average of the host's polling interval. A single pause has little weight.
void PacedQueue::note_gap(std::int64_t now) noexcept {
    constexpr std::int64_t kLongest = 200'000'000;
    constexpr std::int64_t kWeight = 8;
    const auto gap = std::clamp<std::int64_t>(now - asked_, 0, kLongest);
    if (asked_ != 0) {
        const auto counted = gap_ == 0 ? gap : std::min(gap, 4 * gap_ + 1'000'000);
        gap_ += (counted - gap_) / kWeight;
    }
    asked_ = now;
}

void PacedQueue::clear() noexcept {
    while (Event* event = due_.pop()) {
        delete event;
    }
    while (ChoiceEvents* lane = lanes_) {
        lanes_ = std::exchange(lane->next, nullptr);
        while (Event* event = lane->events.pop()) {
            --lane->of.held;
            delete event;
        }
        if (lane->of.held == 0) { // the last event owns the queues and frees them
            auto after = std::exchange(lane->of.after, {});
            while (Event* event = after.pop()) {
                delete event;
            }
        }
    }
    wake_ = INT64_MAX;
}

} // namespace sotto
