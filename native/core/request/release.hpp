// What was said and is not told yet: each answer's events wait here until they are due.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/request/event.hpp"
#include "core/request/pacer.hpp"

namespace sotto {

// Events in their order, linked through themselves.
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

struct Lanes;

// One answer's events.
struct Lane {
    Lane(Lanes& of, const std::atomic<float>& own, const std::atomic<float>& everybodys)
        : of(of), pacer(own, everybodys) {}

    Lanes& of;
    Pacer pacer;
    EventList events;
    Lane* next = nullptr; // of those that hold events
};

// Those of a request. It lives until its last event is gone, with that event.
struct Lanes {
    Lanes(std::uint32_t answers, float tps, const std::atomic<float>& everybodys);

    std::atomic<float> own_tps;
    std::vector<std::unique_ptr<Lane>> answers;
    std::uint32_t held = 0; // events in all of them
    EventList after;        // what comes when none is held any more
};

// Hands out events in the order in which they came, but for those that are paced: these come when they are
// due, each answer's in their order, and a request's last ones after all others. Used by the thread that
// takes events, which allocates and frees nothing here.
class Release {
public:
    ~Release() { clear(); }

    // Takes an event in. `unwanted` gets those that nobody is to hear of any more.
    void admit(Event* event, MpscQueue<Event>& unwanted) noexcept;
    // The next that is due, or null.
    Event* next(std::int64_t now) noexcept;
    // Whether there is one.
    bool has(std::int64_t now) noexcept;
    // When something will be due by itself; INT64_MAX if nothing will.
    std::int64_t wake() const noexcept { return wake_; }
    // Whether nothing is held back, so that no clock need be asked.
    bool is_idle() const noexcept { return due_.empty() && lanes_ == nullptr; }
    // Deletes what is held.
    void clear() noexcept;

private:
    void hold(Lane& lane, Event* event) noexcept;
    void cut_off(Lanes& lanes, MpscQueue<Event>& unwanted, bool wanted) noexcept;
    void release(std::int64_t now) noexcept;
    void let_go(Lane& lane, std::int64_t now) noexcept;
    void note_gap(std::int64_t now) noexcept;

    EventList due_;
    Lane* lanes_ = nullptr; // that hold events
    std::int64_t wake_ = INT64_MAX;
    std::int64_t looked_ = 0; // when last for what is due
    std::int64_t asked_ = 0;  // when last
    std::int64_t gap_ = 0;    // between two times that it was asked, usually
};

} // namespace sotto
