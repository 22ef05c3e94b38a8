// What the scheduler knows of models, and of the streams that they answer.
#pragma once

#include <array>
#include <cstdint>

#include <sotto/request.h>

#include "core/request/pacer.hpp"
#include "core/schedule/compute_account.hpp"
#include "core/schedule/cost_model.hpp"
#include "core/schedule/thread_count.hpp"
#include "core/schedule/waiting.hpp"

namespace sotto {

// What a model is like.
struct ModelTraits {
    std::uint32_t streams = 1;         // that may be open at once, parked ones aside
    std::uint32_t step_tokens = 0;     // of prompts, at most in a step; 0: no matter
    std::uint32_t min_step_tokens = 0; // at least
    bool batches = false;              // one step may work for several streams
    bool parks = false;                // streams can give up their places, and get them back
};

struct ScheduledModel {
    std::uint64_t number = 0;          // names it in a recording
    ModelTraits traits;                // once it is ready
    std::uint32_t open_streams = 0;    // streams opened and not yet closed, but for those that are parked
    sotto_priority least_priority = 0; // of those, as the scheduler saw last
    std::array<bool, kPriorities> has_tenant{}; // likewise, by priority: one has a slot that it was owed
    std::int64_t served_ns = 0;                 // of compute
    ComputeAccount account;                     // who used that
    std::uint64_t last_group = 0;               // of the last step
    CostModel costs;                            // what its steps take
    ThreadCount thread_count;                   // on how many threads
    bool gave_up = false;                       // a step, ever

    // What a step took tells what the next ones will, and on how many threads they go best.
    struct Step {
        std::uint32_t threads = 1;
        StepLoad load;         // what was decoded; nothing, where an earlier step had verified the tokens
        std::int64_t took = 0; // without what it waited at gates
        std::int64_t ended = 0;
        bool gave_up = false; // it took too long, and was not finished
    };
    void learn(const Step& step) noexcept;
    bool has_room() const noexcept { return open_streams < traits.streams; }
};

// How fast an answer is told, and how far that got.
struct Pace {
    double rate = 0;        // tokens per second; 0: as fast as it goes
    std::uint32_t told = 0; // tokens
    std::int64_t next = 0;  // when the next one will be, about

    bool operator==(const Pace&) const = default;
};

enum class StreamState : std::uint8_t {
    waiting,   // for the model to have room
    parked,    // it had a place, gave it up, and waits for another
    prompting, // part of the prompt is not worked through
    speaking,
    over // told its last event, or about to
};

// What changes of a stream.
struct StreamFacts {
    StreamState state = StreamState::waiting;
    bool busy = false;           // part of a job under way
    bool expected = false;       // while it waits: a place is kept for it
    bool unprepared = false;     // while it waits: its request is not prepared yet
    std::uint32_t prompt = 0;    // tokens
    std::uint32_t remaining = 0; // of those, to be worked through
    std::uint32_t generated = 0; // tokens
    std::uint32_t told = 0;      // of those: the host was told, or will be in time
    std::int64_t first = 0;      // when the first of them came
    std::uint64_t served = 0;    // when it had a slice last, counted in slices
    std::int64_t served_at = 0;  // likewise; or when it came
    Pace pace;                   // as it was looked at last

    bool operator==(const StreamFacts&) const = default;
};

// What stays.
struct StreamTerms {
    std::uint64_t number = 0; // in which order they came
    sotto_priority priority = SOTTO_PRIORITY_NORMAL;
    std::int64_t deadline = INT64_MAX; // none
    bool at_once = false;              // answered without a step
    bool pinned = false;               // nobody takes its place
    bool large = false;                // preparing it takes long
    std::uint64_t group = 0;           // of adapters
    bool saves = false; // only worked through and saved: it speaks to nobody, and keeps its place
};

// The control thread's alone.
class ScheduledStream : public StreamFacts {
public:
    using State = StreamState;

    ScheduledStream(ScheduledModel& model, const StreamTerms& terms, const Pacer* pacer, std::int64_t now)
        : model(model), terms(terms), pacer_(pacer) {
        served_at = now;
    }

    ScheduledModel& model;
    const StreamTerms terms;

    // The scheduler's own.
    enum class Where : std::uint8_t { nowhere, waits, inside };
    struct Tenure {
        std::int64_t since = 0; // 0: none
        std::uint32_t generated = 0;
    };
    Where where = Where::nowhere;
    bool waits_for_room = true;    // which queue it is in
    bool waits_unprepared = false; // likewise
    bool was_parked = false;       // when it was put there
    WaitingStreams::Entry waiting;
    Tenure tenure;                    // of the slot that its priority was owed
    std::uint32_t seen_generated = 0; // when compute time was charged last
    std::uint32_t seen_remaining = 0; // likewise

    // It has a place, and so many tokens of its prompt are remembered.
    void opened(std::uint32_t tokens, std::uint32_t remembered) noexcept;
    // It has a place again, and so many tokens to work through before it goes on.
    void unparked(std::uint32_t left) noexcept;
    // A step took place; `spoke`: it gave a token.
    void stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept;
    // Takes a look at how far the host has taken it.
    void look() noexcept;

    // Tokens that the model remembers of it.
    std::uint32_t context() const noexcept;
    bool is_outside() const noexcept { return state == State::waiting || state == State::parked; }
    bool may_park(std::int64_t now) const noexcept {
        return !terms.saves && !terms.pinned && !busy && !is_tenant(now);
    }
    // Whether it was not served for so long that it goes first among streams of its priority.
    bool is_overdue(std::int64_t now) const noexcept;
    // Whether no higher priority may take its slot: it was owed the slot, and has not used it for long.
    bool is_tenant(std::int64_t now) const noexcept;
    // Tokens processed since the last call.
    std::uint32_t take_progress() noexcept;

    bool is_paced() const noexcept { return pace.rate > 0 && !terms.saves; }
    std::int64_t period() const noexcept { return Pacer::duration(1, pace.rate); }
    // Whether a step is to prefill it, or to compute its next token, by now.
    bool is_due(std::int64_t now) const noexcept;
    // When its next token is to be computed, at the latest: while there are still some to tell.
    std::int64_t due(std::int64_t now) const noexcept;
    // Whether its next token may be computed already.
    bool may_speak(std::int64_t now) const noexcept;
    // When there will be nothing left to tell.
    std::int64_t dry(std::int64_t now) const noexcept;

private:
    std::int64_t moment_of(std::uint32_t n) const noexcept;
    std::uint32_t most_ahead() const noexcept;

    const Pacer* pacer_; // null: `pace` is told otherwise
};

} // namespace sotto
