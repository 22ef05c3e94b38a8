// Chooses the next slice for the compute thread.
#pragma once

#include <cstdint>

#include "core/schedule/fair_share.hpp"
#include "core/schedule/scheduled.hpp"
#include "core/schedule/scheduler_observer.hpp"
#include "core/schedule/slice.hpp"
#include "core/schedule/stream_queues.hpp"

namespace sotto {

// Control thread only. Rules:
//
// 1. Order: priority, then deadline, then shortest remaining prefill. Within a priority, a stream
//    that was not served for 10 s goes first. A priority that is owed a share of the compute time
//    (FairShare) precedes all others until it has used that share.
// 2. Models take turns by the compute time that they have used. The adapter groups of a model take
//    turns in the same way.
// 3. A step decodes one token for each due stream of its group, and prefills as many prompt tokens
//    as fit its time limit, so that no stream stops decoding while another prefills.
// 4. A paced stream is decoded in the steps of other streams too, but at most a few tokens ahead of
//    its pace.
// 5. A request without a free slot preempts a stream of lower priority if the model can park streams.
//    Pinned streams are never preempted, and resume before others of their priority. A stream that
//    got its slot because its priority was owed a share is preempted only after it decoded 64 tokens
//    (a line), or decoded at least 8 tokens and held the slot for a second.
//
// The cost of a decision does not depend on the number of waiting streams: WaitingStreams indexes
// them by model and priority.
class Scheduler {
public:
    // `observer`: null, or an object that outlives the scheduler.
    explicit Scheduler(SchedulerObserver* observer = nullptr) : observer_(observer) {}

    // Throws std::bad_alloc without any effect.
    void add(ScheduledStream& stream);
    // No effect if the stream was not added.
    void remove(ScheduledStream& stream) noexcept;
    // Call after a stream's facts changed for another reason than a slice that next() returned.
    void changed(ScheduledStream& stream) noexcept;

    // Reads how many tokens of each paced stream the host has taken. next(), goes_on() and wake() use these
    // numbers.
    void look() noexcept;

    // Returns the next slice; Kind::none if nothing is due.
    Slice next(std::int64_t now, const Limits& limits);

    // Returns true if the running step can be repeated once it ends: all of its streams decode and are
    // unpaced, and no other stream is due or may get a slot.
    bool goes_on(std::int64_t now);

    // Returns the stream to prepare next, in the order of rule 1; null if none. Per model and priority,
    // prepares at most as many streams ahead as the model has slots (at least 2), because each takes memory.
    // `large`: includes streams that are slow to prepare.
    ScheduledStream* next_unprepared(std::int64_t now, bool large) const;

    // Returns when the next decoding stream becomes due; kNever if none does.
    std::int64_t wake(std::int64_t now) const;

    StreamCounts counts(std::int64_t now) const noexcept { return streams_.counts(now); }
    // Returns true if a stream waits for a slot of that model.
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
    bool entered_ = false; // the last slice opened or resumed a stream
};

} // namespace sotto
