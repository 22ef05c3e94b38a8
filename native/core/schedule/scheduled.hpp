// State of models and streams as the scheduler sees it.
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

// Properties of a model.
struct ModelTraits {
    std::uint32_t streams = 1;         // maximum open streams, without parked ones
    std::uint32_t step_tokens = 0;     // maximum prefill tokens of a step; 0: no limit
    std::uint32_t min_step_tokens = 0; // minimum prefill tokens of a step
    bool batches = false;              // one step may serve several streams
    bool parks = false;                // streams can be parked and resumed
};

struct ScheduledModel {
    std::uint64_t number = 0;       // id in recordings
    ModelTraits traits;             // set once loaded
    std::uint32_t open_streams = 0; // open streams, without parked ones
    // Lowest priority of the streams that may be preempted, at the last decision
    sotto_priority least_priority = 0;
    // By priority, at the last decision: true if a stream of that priority has a slot and must not be
    // preempted yet (see is_tenant()).
    std::array<bool, kPriorities> has_tenant{};
    std::int64_t served_ns = 0;    // compute time
    ComputeAccount account;        // compute time by priority and adapter group
    std::uint64_t last_group = 0;  // adapter group of the last step
    CostModel costs;               // predicts step times
    ThreadCount thread_count;      // chooses the number of threads of steps
    bool gave_up = false;          // a step was ever given up
    std::uint32_t max_decoded = 1; // max answer tokens per stream and step, with draft tokens

    // A finished step. learn() uses it to predict step times and to choose the number of threads.
    struct Step {
        std::uint32_t threads = 1;
        StepLoad load;         // tokens processed; none if an earlier step verified them
        std::int64_t took = 0; // ns, without waits at gates
        std::int64_t ended = 0;
        bool gave_up = false; // took too long and was not finished
    };
    void learn(const Step& step) noexcept;
    bool has_room() const noexcept { return open_streams < traits.streams; }
};

// The rate at which tokens are delivered to the host, and the progress of the delivery.
struct Pace {
    double rate = 0;        // tokens per second; 0: unpaced
    std::uint32_t told = 0; // tokens delivered
    std::int64_t next = 0;  // approximate delivery time of the next token

    bool operator==(const Pace&) const = default;
};

enum class StreamState : std::uint8_t {
    waiting,   // for a slot
    parked,    // lost its slot, waits for another
    prompting, // prefilling
    speaking,  // decoding
    over       // ended, or about to end
};

// Mutable state of a stream.
struct StreamFacts {
    StreamState state = StreamState::waiting;
    bool busy = false;           // the stream is part of the running job
    bool awaits = false;         // its backend waits for something outside of the engine
    bool expected = false;       // while waiting: a slot is reserved
    bool unprepared = false;     // while waiting: its request is not prepared yet
    std::uint32_t prompt = 0;    // tokens of the prompt
    std::uint32_t remaining = 0; // tokens of the prompt not yet prefilled
    std::uint32_t generated = 0; // tokens decoded
    std::uint32_t told = 0;      // decoded tokens that are delivered or queued for delivery
    std::int64_t first = 0;      // time of the first decoded token
    std::uint64_t served = 0;    // index of its last slice
    std::int64_t served_at = 0;  // time of its last slice, or of its arrival
    Pace pace;                   // as of the last look()

    bool operator==(const StreamFacts&) const = default;
};

// Immutable properties of a stream.
struct StreamTerms {
    std::uint64_t number = 0; // order of arrival
    sotto_priority priority = SOTTO_PRIORITY_NORMAL;
    std::int64_t deadline = INT64_MAX; // INT64_MAX: none
    bool at_once = false;              // answered without a step or a slot
    bool pinned = false;               // its slot is never preempted
    bool large = false;                // preparing the request is slow
    std::uint64_t group = 0;           // adapter group
    // The stream only prefills and saves its KV cache: it delivers no tokens, and is never preempted.
    bool saves = false;
};

// Control thread only.
class ScheduledStream : public StreamFacts {
public:
    using State = StreamState;

    ScheduledStream(ScheduledModel& model, const StreamTerms& terms, const Pacer* pacer, std::int64_t now)
        : model(model), terms(terms), pacer_(pacer) {
        served_at = now;
    }

    ScheduledModel& model;
    const StreamTerms terms;

    // The members from here to `seen_remaining` are used by the scheduler only.
    enum class Where : std::uint8_t { nowhere, waits, inside };
    struct Tenure {
        std::int64_t since = 0; // 0: no tenure
        std::uint32_t generated = 0;
    };
    Where where = Where::nowhere;
    bool waits_for_room = true;    // selects its queue
    bool waits_unprepared = false; // selects its queue
    bool was_parked = false;       // was parked when queued
    WaitingStreams::Entry waiting;
    Tenure tenure;                    // starts when the stream gets a slot that its priority is owed
    std::uint32_t seen_generated = 0; // at the last charge of compute time
    std::uint32_t seen_remaining = 0; // at the last charge of compute time

    // Call when the stream got its first slot. `tokens`: prompt length; `remembered`: prompt tokens that the
    // KV cache already holds.
    void opened(std::uint32_t tokens, std::uint32_t remembered) noexcept;
    // Call when a parked stream got a slot again. `left`: tokens to prefill before it decodes.
    void unparked(std::uint32_t left) noexcept;
    // Updates the stream after a step. `left`: prompt tokens that remain to prefill; `spoke`: the step
    // decoded a token of the stream.
    void stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept;
    // Copies the pace, and how many tokens the host has taken, from the pacer to `pace`.
    void look() noexcept;

    // Tokens of the stream in the KV cache.
    std::uint32_t context() const noexcept;
    bool is_outside() const noexcept { return state == State::waiting || state == State::parked; }
    bool may_park(std::int64_t now) const noexcept {
        return !terms.saves && !terms.pinned && !busy && !is_tenant(now);
    }
    // Returns true if the stream was in no slice for 10 s: the stream then precedes others of its priority.
    bool is_overdue(std::int64_t now) const noexcept;
    // Returns true if the stream got its slot because its priority was owed a share of the compute time, and
    // has not used the slot for long: higher priorities must not preempt the stream yet.
    bool is_tenant(std::int64_t now) const noexcept;
    // Returns the tokens prefilled and decoded since the last call.
    std::uint32_t take_progress() noexcept;

    bool is_paced() const noexcept { return pace.rate > 0 && !terms.saves; }
    std::int64_t period() const noexcept { return Pacer::duration(1, pace.rate); }
    // Returns true if the stream has prompt tokens to prefill, or should decode its next token at `now` or
    // earlier.
    bool is_due(std::int64_t now) const noexcept;
    // Returns when the stream should decode its next token, early enough that paced delivery does not run out
    // of tokens.
    std::int64_t due(std::int64_t now) const noexcept;
    // Returns true if the stream may decode its next token: it is unpaced, or not too far ahead of its pace.
    bool may_speak(std::int64_t now) const noexcept;
    // Time at which all decoded tokens will be delivered.
    std::int64_t dry(std::int64_t now) const noexcept;

private:
    std::int64_t moment_of(std::uint32_t n) const noexcept;
    std::uint32_t most_ahead() const noexcept;

    const Pacer* pacer_; // null: `pace` is set directly
};

} // namespace sotto
