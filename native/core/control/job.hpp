// A unit of work that the control thread passes to the compute thread. "out" marks what the compute thread
// sets.
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

// Only closes streams and frees adapters, as every job does first.
struct CloseJob {};

// Loads an adapter.
struct AdapterJob {
    std::shared_ptr<Adapter> adapter;
};

// Parks all streams and changes the model's number of slots.
struct ResizeJob {
    std::uint32_t slots = 0;
    std::vector<KvStateStore::Kept>
        kept; // out: each stream's KV state to restore with its next slot, or null
};

// Puts the job's only stream into a slot.
struct EnterJob {
    Stream* parks = nullptr;                      // preempted first to free the slot, or null
    KvStateStore::Kept recalls;                   // KV state to restore first, or null
    std::shared_ptr<KvStateStore::Fetch> fetched; // that state, if read from disk
    bool useless = false;                         // out: the state cannot be restored; discard it
};

struct OpenJob : EnterJob {
    sotto_stream_flags flags = 0;
    sotto_op op = 0;
    const PageString* body = nullptr;
    std::uint32_t index = 0; // of the answer
    const AdapterSet* adapters = nullptr;
    void* prepared = nullptr;          // result of the backend's prepare(), or null
    const std::string* path = nullptr; // of a state file to restore instead of opening a stream, or null
    const PageBuffer* state = nullptr; // the contents of that file
    StreamInfo opened;                 // out
};

struct ResumeJob : EnterJob {
    std::uint32_t remaining = 0; // out: tokens left to prefill
};

// Runs a step. Each vector has one element per stream of the job.
struct StepJob {
    std::vector<sotto_step_item> work;
    std::vector<Heard> heard;      // out
    std::vector<Failure> failures; // out
};

// Progress of a job through its gates, where it may wait for the game.
struct Gates {
    struct Wait {
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    std::int64_t limit = 0;              // maximum wait while the game works, in ns; 0: no wait
    std::array<Wait, 8> waits;           // out: the first waits
    std::uint32_t waited = 0;            // out: number of entries of `waits` in use
    std::int64_t gated_ns = 0;           // out: sum of all waits
    std::atomic<std::uint32_t> asked{0}; // gates reached
};

struct Job {
    ModelEntry* entry = nullptr; // the model
    ThreadClass thread_class = ThreadClass::normal;
    std::vector<Stream*> streams;                // streams that the job computes
    std::vector<Closing> closing;                // streams to close first
    std::vector<std::shared_ptr<Adapter>> freed; // adapters to free after closing streams
    std::variant<CloseJob, AdapterJob, ResizeJob, OpenJob, ResumeJob, StepJob> what;
    std::uint32_t threads = 1;
    std::int64_t patience = 0; // ns after which a step is aborted and repeated on fewer threads; 0: never
    Gates gates;

    // For the trace:
    sotto_mode mode = SOTTO_MODE_BALANCE;
    StepLoad load;
    std::int64_t predicted = 0;
    std::int64_t limit = 0;
    float share = 1;
    bool tries = false; // runs on a thread count that is being tried

    std::int64_t issued = 0;       // time at which the control thread passed it on
    bool gave_up = false;          // out: the step was aborted
    float phase = -1;              // out: position in the game's frame at the start, 0 to 1; -1: unknown
    std::int64_t began = 0;        // out
    std::int64_t ended = 0;        // out
    Failure failure;               // out: failure of the whole job
    bool followed = false;         // out: the next job was started without a pause
    std::atomic<bool> done{false}; // out: set last
    std::atomic<bool> abort{false};
    std::atomic<bool> given_up{false}; // the control thread no longer waits for it
};

// Returns true if a job takes a step.
inline bool is_step(const Job& job) noexcept {
    return std::holds_alternative<StepJob>(job.what);
}

} // namespace sotto
