// What the control thread has the compute thread do.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "core/control/stream.hpp"
#include "core/settings.hpp"
#include "platform/thread.hpp"

namespace sotto {

// Does no more than what each job begins with.
struct CloseJob {};

// Loads an adapter.
struct AdapterJob {
    std::shared_ptr<Adapter> adapter;
};

// Parks all streams, and gives the model so many slots.
struct ResizeJob {
    std::uint32_t slots = 0;
    std::vector<KvStateStore::Kept> kept; // out: what each stream recalls when it gets a slot again; or null
};

// Gives the job's one stream a slot.
struct EnterJob {
    Stream* parks = nullptr;                      // that gives up its slot first; or null
    KvStateStore::Kept recalls;                   // what the model recalls before; or null
    std::shared_ptr<KvStateStore::Fetch> fetched; // of that
    bool useless = false;                         // out: it could not be recalled, and never will be
};

struct OpenJob : EnterJob {
    sotto_stream_flags flags = 0;
    sotto_op op = 0;
    const PageString* body = nullptr;
    std::uint32_t index = 0; // of the answer
    const AdapterSet* adapters = nullptr;
    void* prepared = nullptr;          // what the backend made of the body; or null
    const std::string* path = nullptr; // of a state to restore, instead of a stream to open
    const PageBuffer* state = nullptr; // that state
    StreamInfo opened;                 // out
};

struct ResumeJob : EnterJob {
    std::uint32_t remaining = 0; // out: tokens left to prefill
};

// Takes a step. Each member has one element for each stream of the job.
struct StepJob {
    std::vector<sotto_step_item> work;
    std::vector<Heard> heard;      // out
    std::vector<Failure> failures; // out
};

// A job's way through its gates.
struct Gates {
    struct Wait {
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    std::int64_t limit = 0;              // the most that it waits while the game works; 0: it does not
    std::array<Wait, 8> waits;           // out: the first waits
    std::uint32_t waited = 0;            // out: how many of `waits` are used
    std::int64_t gated_ns = 0;           // out: all waits together
    std::atomic<std::uint32_t> asked{0}; // gates that it came to
};

struct Job {
    ModelEntry* entry = nullptr; // that has the model
    ThreadClass thread_class = ThreadClass::normal;
    std::vector<Stream*> streams;                // that it works for
    std::vector<Closing> closing;                // streams to close, first of all
    std::vector<std::shared_ptr<Adapter>> freed; // adapters to free, after that
    std::variant<CloseJob, AdapterJob, ResizeJob, OpenJob, ResumeJob, StepJob> what;
    std::uint32_t threads = 1;
    std::int64_t patience = 0; // after so long a step is given up, to be taken on fewer threads; 0: never
    Gates gates;

    // For the trace:
    sotto_mode mode = SOTTO_MODE_BALANCE;
    StepLoad load;
    std::int64_t predicted = 0;
    std::int64_t limit = 0;
    float share = 1;
    bool tries = false; // another number of threads than usual

    std::int64_t issued = 0;       // when it was handed over
    bool gave_up = false;          // out
    float phase = -1;              // out: of the game's frame, when it began
    std::int64_t began = 0;        // out
    std::int64_t ended = 0;        // out
    Failure failure;               // out: of the whole job
    bool followed = false;         // out: the job that was to follow is under way
    std::atomic<bool> done{false}; // out, last of all
    std::atomic<bool> abort{false};
    std::atomic<bool> given_up{false}; // the control thread does not wait for it any longer
};

// Returns true if a job takes a step.
inline bool is_step(const Job& job) noexcept {
    return std::holds_alternative<StepJob>(job.what);
}

} // namespace sotto
