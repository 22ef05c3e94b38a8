// Decides what the compute thread does next.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/schedule/fair_share.hpp"
#include "core/schedule/scheduled.hpp"
#include "core/schedule/scheduler_observer.hpp"

namespace sotto {

// One piece of work of bounded cost, for streams of one model.
struct Slice {
    enum class Kind : std::uint8_t {
        none,
        open,   // make the prompt of one stream
        unpark, // give one stream its place again
        step    // work for the streams, each with its share of prompt tokens
    };

    struct Share {
        ScheduledStream* stream;
        std::uint32_t tokens;
    };

    Kind kind = Kind::none;
    std::vector<Share> shares;
    ScheduledStream* parks = nullptr; // to give up its place first
    StepLoad load;
    std::int64_t limit = 0;     // what it is to keep within; 0: nothing
    std::int64_t predicted = 0; // 0: nothing is known

    ScheduledModel& model() const { return shares.front().stream->model; }
};

// What a slice may cost.
struct Limits {
    std::int64_t time = 0; // for a step that works through prompts
    bool apart = false;    // each stream for itself, prompts in pieces that are always the same
};

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

    // How many streams are in each state, those without a slot by what they were when they lost it.
    struct Counts {
        std::uint32_t waiting = 0;
        std::uint32_t parked = 0;
        std::uint32_t prompting = 0;
        std::uint32_t speaking = 0;
        std::int64_t oldest = 0; // when the stream without a slot that waits the longest was served, or came
    };
    Counts counts(std::int64_t now) const noexcept;
    // Whether some stream waits for a slot of that model.
    bool waits_for_room(const ScheduledModel& model) const noexcept;

private:
    // The streams of one model.
    struct Queue {
        ScheduledModel* model;
        std::uint32_t streams = 0;
        std::array<WaitingStreams, kPriorities> for_room; // by priority
        std::array<WaitingStreams, kPriorities> at_once;  // likewise: those that need no room
        std::array<std::array<WaitingStreams, kPriorities>, 2>
            unprepared; // likewise: not yet; large ones last

        WaitingStreams& of(const ScheduledStream& stream) noexcept;
    };

    Queue& queue_of(const ScheduledModel& model) noexcept;
    void put(ScheduledStream& stream) noexcept;
    void take(ScheduledStream& stream) noexcept;
    void sync() noexcept;
    void report_facts() const noexcept;
    void settle(std::int64_t now) noexcept;
    void charge(ScheduledModel& model) noexcept;
    static void enter_group(const ScheduledStream& stream) noexcept;
    void leave_group(const ScheduledStream& stream) noexcept;
    static void note_progress(ScheduledStream& stream) noexcept;
    void survey(std::int64_t now) noexcept;
    int urgency(const ScheduledStream& stream) const noexcept;
    auto rank(const ScheduledStream& stream, std::int64_t now) const;
    static bool is_due(const ScheduledStream& stream, std::int64_t now);
    static bool may_enter(const ScheduledStream& stream);
    ScheduledStream* victim_for(const ScheduledStream& stream, std::int64_t now) const;
    Slice choose(std::int64_t now, const Limits& limits);
    ScheduledStream* next_entering(std::int64_t now) const;
    std::size_t prepared_ahead(const Queue& queue, std::size_t priority) const noexcept;
    ScheduledStream* next_inside(std::int64_t now) const;
    Slice enter(ScheduledStream& stream, std::int64_t now);
    Slice step(ScheduledModel& model, std::uint64_t group, std::int64_t now, const Limits& limits);
    void add_prompts(Slice& slice, std::uint32_t tokens) const;
    Slice lone_step(ScheduledModel& model, std::int64_t now, const Limits& limits);
    std::int64_t limit_of(std::int64_t now, const Limits& limits) const;
    static void predict(Slice& slice);

    SchedulerObserver* const observer_;
    std::vector<std::unique_ptr<Queue>> queues_;
    std::vector<ScheduledStream*> inside_; // streams with a slot, or about to get one, in order of arrival
    std::vector<ScheduledStream*> chosen_; // while a slice is made
    std::size_t streams_ = 0;              // all of them
    std::uint32_t parked_ = 0;             // streams without a slot that had one
    FairShare share_;
    std::uint64_t slices_ = 0;
    bool entered_ = false; // the last slice opened a stream
};

} // namespace sotto
