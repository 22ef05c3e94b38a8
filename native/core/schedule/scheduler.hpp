// Decides what the compute thread does next.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/scheduled.hpp"

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

class Recorder;

// What a slice may cost.
struct Limits {
    std::int64_t time = 0; // for a step that works through prompts
    bool apart = false;    // each stream for itself, prompts in pieces that are always the same
};

// The control thread's alone. Its rules:
//
// 1. What matters more goes first; of that, what is due earlier; of that, what has least left of its prompt.
//    Whoever waits long counts as mattering more, and after very long as more than all, so that nobody
//    waits for ever.
// 2. Models take turns by the time that they had.
// 3. A step speaks one token for each answer of its model that is due, and works through as much of prompts
//    as fits its limit, so that nobody's speech stops for another's prompt.
// 4. A paced answer is worked on a few tokens ahead, together with others, and not further.
// 5. A request that finds no place takes that of one that matters less, where the model can park: never that
//    of a pinned one, who also comes back before others that matter as much.
class Scheduler {
public:
    // `recorder`: who is told of all that goes in, and what comes out; or null.
    explicit Scheduler(Recorder* recorder = nullptr) : recorder_(recorder) {}

    void add(ScheduledStream& stream);
    void remove(ScheduledStream& stream);

    // Takes a look at how far the host has taken what is paced. Everything below goes by that.
    void look() noexcept;

    // What to do now; Kind::none if nothing is due.
    Slice next(std::int64_t now, const Limits& limits);

    // Whether the streams of the step under way, those that are busy, will all be due as soon as it has
    // ended, and nothing else is due before them.
    bool goes_on(std::int64_t now) const;

    // When something will be due by itself; kNever if nothing will.
    std::int64_t wake(std::int64_t now) const;

private:
    bool is_due(const ScheduledStream& stream, std::int64_t now) const;
    bool may_enter(const ScheduledStream& stream) const;
    ScheduledStream* victim_for(const ScheduledStream& stream) const;
    Slice choose(std::int64_t now, const Limits& limits);
    void survey() const;
    ScheduledStream* most_urgent(std::int64_t now, bool outside) const;
    Slice enter(ScheduledStream& stream) const;
    Slice step(ScheduledModel& model, std::int64_t now, const Limits& limits);
    Slice lone_step(ScheduledModel& model, std::int64_t now, const Limits& limits);
    std::int64_t limit_of(std::int64_t now, const Limits& limits) const;
    static void predict(Slice& slice);

    Recorder* const recorder_;
    std::vector<ScheduledStream*> streams_; // in order of arrival
    std::vector<ScheduledStream*> chosen_;  // while a slice is made
    std::uint64_t slices_ = 0;
    bool entered_ = false; // the last slice opened a stream
};

} // namespace sotto
