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
//    that was not served for 10 s goes first. A priority that higher ones keep from its share
//    (FairShare) precedes them until it has had the share.
// 2. Models take turns by the compute time that they had. So do the adapter groups of a model.
// 3. A step decodes one token for each due stream of its group, and prefills as many prompt tokens
//    as fit its limit, so that no stream stops decoding while another prefills.
// 4. A paced stream is decoded a few tokens ahead of its pace, together with others, and not
//    further.
// 5. A request without a free slot preempts a stream of lower priority if the model can park. Never
//    preempted: pinned streams, which also resume before others of their priority. Not preempted
//    yet: a stream that got its slot as its priority's share, until it decoded a line (64 tokens),
//    or at least 8 tokens in a second.
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

    // Reads how far the host has taken the tokens of paced streams. All decisions below use that.
    void look() noexcept;

    // Returns the next slice; Kind::none if nothing is due.
    Slice next(std::int64_t now, const Limits& limits);

    // Returns true if all busy streams, those of the running step, will be due when it ends, and
    // nothing else is due before them.
    bool goes_on(std::int64_t now);

    // Returns the stream to prepare next, by rule 1; null if none. Prepares no more
    // streams ahead per model and priority than the model has slots, because each takes
    // memory. `large`: slow ones too.
    ScheduledStream* next_unprepared(std::int64_t now, bool large) const;

    // Returns the time at which a stream becomes due by itself; kNever if none does.
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
