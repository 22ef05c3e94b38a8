// Decides what the compute thread does next.
#pragma once

#include <cstdint>

#include "core/schedule/fair_share.hpp"
#include "core/schedule/scheduled.hpp"
#include "core/schedule/scheduler_observer.hpp"
#include "core/schedule/slice.hpp"
#include "core/schedule/stream_queues.hpp"

namespace sotto {

// The control thread's alone. Its rules:
//
// 1. Order: priority, then deadline, then shortest remaining prefill. Of one priority, a stream that was not
//    served for ten seconds goes first. A priority that higher ones keep from its share (FairShare) goes
//    before them until it has had the share.
// 2. Models take turns by the time that they had, and so do groups: streams of a model with other adapters.
// 3. A step speaks one token for each answer of its group that is due, and works through as much of prompts
//    as fits its limit, so that nobody's speech stops for another's prompt.
// 4. A paced answer is worked on a few tokens ahead, together with others, and not further.
// 5. A request that finds no slot takes that of one of lower priority, where the model can park: never that
//    of a pinned one, who also comes back before others of its priority, and not yet that of one who got it
//    as its priority's share: it keeps the slot for a line or a second.
//
// A decision costs the same however many streams wait: those are in WaitingStreams, by model and priority.
class Scheduler {
public:
    // `observer`: null, or it outlives the scheduler.
    explicit Scheduler(SchedulerObserver* observer = nullptr) : observer_(observer) {}

    // Throws std::bad_alloc before anything has changed.
    void add(ScheduledStream& stream);
    // One that was not added is passed over.
    void remove(ScheduledStream& stream) noexcept;
    // Facts of a stream have changed otherwise than by a slice that next() returned.
    void changed(ScheduledStream& stream) noexcept;

    // Takes a look at how far the host has taken what is paced. Everything below goes by that.
    void look() noexcept;

    // What to do now; Kind::none if nothing is due.
    Slice next(std::int64_t now, const Limits& limits);

    // Whether the streams of the step under way, those that are busy, will all be due as soon as it has
    // ended, and nothing else is due before them.
    bool goes_on(std::int64_t now);

    // The stream that is to be prepared next, by rule 1; null if there is none. Of each model and priority,
    // no more are prepared ahead than have slots, as each takes memory. `large`: one that takes long may be.
    ScheduledStream* next_unprepared(std::int64_t now, bool large) const;

    // When something will be due by itself; kNever if nothing will.
    std::int64_t wake(std::int64_t now) const;

    StreamCounts counts(std::int64_t now) const noexcept { return streams_.counts(now); }
    // Whether some stream waits for a slot of that model.
    bool waits_for_room(const ScheduledModel& model) const noexcept { return streams_.waits_for_room(model); }

private:
    void report_facts() const noexcept;
    void settle(std::int64_t now) noexcept;
    void survey(std::int64_t now) noexcept;
    ScheduledStream* victim_for(const ScheduledStream& stream, std::int64_t now) const;
    Slice choose(std::int64_t now, const Limits& limits);
    ScheduledStream* next_entering(std::int64_t now) const;
    ScheduledStream* next_inside(std::int64_t now) const;
    Slice enter(ScheduledStream& stream, std::int64_t now);
    Slice step(const ScheduledStream& first, std::int64_t now, const Limits& limits);

    SchedulerObserver* const observer_;
    StreamQueues streams_;
    FairShare share_;
    std::uint64_t slices_ = 0;
    bool entered_ = false; // the last slice opened a stream
};

} // namespace sotto
