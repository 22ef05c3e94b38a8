// Holds back events of paced answers until they are due.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/request/event.hpp"
#include "core/request/pacer.hpp"

namespace sotto {

// An intrusive FIFO list of events.
class EventList {
public:
    bool empty() const noexcept { return first_ == nullptr; }
    Event* front() const noexcept { return first_; }
    void push(Event* event) noexcept;
    Event* pop() noexcept;

private:
    Event* first_ = nullptr;
    Event* last_ = nullptr;
};

struct RequestEvents;

// The events of one answer that are not delivered yet.
struct ChoiceEvents {
    ChoiceEvents(RequestEvents& of, const std::atomic<float>& own, const std::atomic<float>& everybodys)
        : of(of), pacer(own, everybodys) {}

    RequestEvents& of;
    Pacer pacer;
    EventList events;
    ChoiceEvents* next = nullptr; // next in the list of answers that hold events
};

// The queues of all answers of a request. Owned by the request's last event, and freed with it.
struct RequestEvents {
    RequestEvents(std::uint32_t answers, float tps, const std::atomic<float>& everybodys);

    std::atomic<float> own_tps;
    std::vector<std::unique_ptr<ChoiceEvents>> answers;
    std::uint32_t held = 0; // number of events held in all answers
    EventList after;        // events to deliver once `held` is 0
};

// Delivers events in FIFO order, except that paced events wait until they are due. The order within an answer
// is kept, and a request's final events come after all other events of the request. Used by the thread that
// takes events. Only clear() frees memory; no function allocates.
class PacedQueue {
public:
    ~PacedQueue() { clear(); }

    // Adds an event. If the event ends a cancelled request, the held events of the request go to `unwanted`.
    void admit(Event* event, MpscQueue<Event>& unwanted) noexcept;
    // Returns the next event that is due, or null.
    Event* next(std::int64_t now) noexcept;
    // Returns true if an event is due.
    bool has(std::int64_t now) noexcept;
    // Time when a held event will be due; INT64_MAX if none is held.
    std::int64_t wake() const noexcept { return wake_; }
    // Returns true if no event is held, so that the caller need not read the clock.
    bool is_idle() const noexcept { return due_.empty() && lanes_ == nullptr; }
    // Deletes all held events.
    void clear() noexcept;

private:
    void hold(ChoiceEvents& lane, Event* event) noexcept;
    void cut_off(RequestEvents& events, MpscQueue<Event>& unwanted, bool wanted) noexcept;
    void release(std::int64_t now) noexcept;
    void let_go(ChoiceEvents& lane, std::int64_t now) noexcept;
    void note_gap(std::int64_t now) noexcept;

    EventList due_;
    ChoiceEvents* lanes_ = nullptr; // answers that hold events
    std::int64_t wake_ = INT64_MAX;
    std::int64_t looked_ = 0; // time of the last search for due events
    std::int64_t asked_ = 0;  // time of the host's last poll
    std::int64_t gap_ = 0;    // moving average of the host's polling interval
};

} // namespace sotto
