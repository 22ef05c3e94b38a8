// Jobs that the control thread passes to the compute threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "core/control/slot_task.hpp"
#include "core/control/stream.hpp"
#include "core/settings.hpp"
#include "platform/thread.hpp"

namespace sotto {

// A job that only closes streams and frees adapters, which every job does first.
struct CloseJob {};

// Loads an adapter.
struct AdapterJob {
    std::shared_ptr<Adapter> adapter;
};

// Parks all streams, and resizes the model to `slots`.
struct ResizeJob {
    std::uint32_t slots = 0;
    std::vector<KvStateStore::Kept> kept; // out: saved KV cache of each stream; or null
};

// Gives a slot to the only stream of the job.
struct EnterJob {
    Stream* parks = nullptr;                      // stream to park first; or null
    KvStateStore::Kept recalls;                   // saved KV cache to restore; or null
    std::shared_ptr<KvStateStore::Fetch> fetched; // asynchronous read of `recalls`; or null
    bool useless = false;                         // out: `recalls` can never be restored
};

// Opens a stream in the slot, or restores a saved state.
struct OpenJob : EnterJob {
    sotto_stream_flags flags = 0;
    sotto_op op = 0;
    const PageString* body = nullptr;
    std::uint32_t index = 0; // of the choice
    const AdapterSet* adapters = nullptr;
    void* prepared = nullptr;          // the backend's prepared request; or null
    const std::string* path = nullptr; // file of `state`
    const PageBuffer* state = nullptr; // state to restore, instead of opening a stream
    SlotTask slots;                    // of SOTTO_OP_SLOTS
    StreamInfo opened;                 // out
};

// Unparks a stream.
struct ResumeJob : EnterJob {
    std::uint32_t remaining = 0; // out: tokens left to prefill
};

// Runs one step. Each vector has one element per stream of the job.
struct StepJob {
    std::vector<sotto_step_item> work;
    std::vector<AnswerIncrement> increment; // out
    std::vector<Failure> failures;          // out
    std::uint32_t wakes = 0;                // wake-ups of streams that wait, counted before the step
};

// Gates that a job has reached, and its waits there.
struct Gates {
    struct Wait {
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    std::int64_t limit = 0;              // maximum total wait in ns; 0: no waits
    std::array<Wait, 8> waits;           // out: the first waits
    std::uint32_t waited = 0;            // out: number of entries in `waits`
    std::int64_t gated_ns = 0;           // out: total of all waits
    std::atomic<std::uint32_t> asked{0}; // number of gates reached
};

struct Job {
    ModelEntry* entry = nullptr; // owns the model
    ThreadClass thread_class = ThreadClass::normal;
    std::vector<Stream*> streams;                // streams to open, unpark, step or park
    std::vector<Closing> closing;                // streams to close first
    std::vector<std::shared_ptr<Adapter>> freed; // adapters to free after closing streams
    std::variant<CloseJob, AdapterJob, ResizeJob, OpenJob, ResumeJob, StepJob> what;
    std::uint32_t threads = 1;
    std::int64_t patience = 0; // ns until a step ends early, see patience_of(); 0: no limit
    Gates gates;

    // For the trace:
    sotto_mode mode = SOTTO_MODE_BALANCE;
    StepLoad load;
    std::int64_t predicted = 0;
    std::int64_t limit = 0;
    float share = 1;
    bool tries = false; // tries another number of threads than usual

    std::int64_t issued = 0;       // when the job was passed to its thread
    bool gave_up = false;          // out: the step ended early
    float phase = -1;              // out: start, as a fraction of the game's frame; negative: unknown
    std::int64_t began = 0;        // out
    std::int64_t ended = 0;        // out
    Failure failure;               // out: error of the whole job
    bool followed = false;         // out: the queued job has started
    std::atomic<bool> done{false}; // out: set last
    std::atomic<bool> abort{false};
    std::atomic<bool> given_up{false}; // the step must end early, to be repeated
};

// Returns true if the job runs a step.
inline bool is_step(const Job& job) noexcept {
    return std::holds_alternative<StepJob>(job.what);
}

} // namespace sotto
