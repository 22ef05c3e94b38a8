// The thread that runs models, one job at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "core/control/stream.hpp"
#include "core/schedule/frame.hpp"
#include "core/settings.hpp"
#include "platform/signal.hpp"
#include "platform/thread.hpp"

namespace sotto {

// What the control thread hands over, and gets back when it is done.
struct Job {
    ModelEntry* entry = nullptr; // that has the model
    ThreadClass thread_class = ThreadClass::normal;
    std::vector<Stream*> streams;                // that it works for
    std::vector<Closing> closing;                // streams to close, first of all
    Stream* parks = nullptr;                     // to give up its place, after that
    std::vector<std::shared_ptr<Adapter>> freed; // adapters to free, after the streams are closed
    std::shared_ptr<Adapter> loads;              // to be loaded then; or null

    // Parking all streams, and giving the model so many places:
    bool resizes = false;
    std::uint32_t places = 0;
    std::vector<Parking::Kept> kept; // out: what is remembered of each; or null

    // Giving a stream its place again:
    bool unparks = false;
    Parking::Kept recalls; // what is to be remembered again before it is given one, or opened; or null
    std::shared_ptr<Parking::Fetch> fetched; // of that
    std::uint32_t unparked = 0;              // out: tokens left to work through
    bool useless = false;                    // out: that could not be remembered, and never will be

    // Or opening one:
    bool opens = false;
    sotto_stream_flags flags = 0;
    sotto_op op = 0;
    const PageString* body = nullptr;
    std::uint32_t index = 0;              // of the answer
    const AdapterSet* adapters = nullptr; // that the stream uses
    void* prepared = nullptr;             // what the backend made of the body; or null
    const std::string* path = nullptr;    // of a state to restore, instead of a stream to open
    const PageBuffer* state = nullptr;    // that one
    StreamInfo opened;                    // out

    // Or a step:
    std::vector<sotto_step_item> work; // of each stream
    std::vector<Heard> heard;          // out: what each share gave
    std::vector<Failure> failures;     // out: of each share
    std::uint32_t threads = 1;
    std::int64_t gate_limit = 0; // the most that it waits inside while the game works; 0: it does not
    std::int64_t patience = 0;   // after so long it is given up, to be taken on fewer threads; 0: never

    // For those who look:
    sotto_mode mode = SOTTO_MODE_BALANCE;
    StepLoad load;
    std::int64_t predicted = 0;
    std::int64_t limit = 0;
    float share = 1;
    bool tries = false; // another number of threads than usual

    struct Wait {
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    std::array<Wait, 8> waits;     // out: at gates, the first of them
    std::uint32_t waited = 0;      // out: how many of those there are
    std::int64_t gated_ns = 0;     // out: all of them together
    bool gave_up = false;          // out
    float phase = -1;              // out: of the game's frame, when it began
    std::int64_t began = 0;        // out
    std::int64_t ended = 0;        // out
    Failure failure;               // out: of the opening, or of the whole step
    bool followed = false;         // out: the job that was to follow is under way
    std::atomic<bool> done{false}; // out, last of all
    std::atomic<bool> abort{false};
    bool raised = false;                 // its thread was asked for the normal class
    std::atomic<bool> given_up{false};   // the control thread does not wait for it any longer
    std::int64_t issued = 0;             // when it was handed over
    std::int64_t checked = 0;            // when the control thread looked after it
    std::uint32_t seen = 0;              // gates that it had come to then
    std::int64_t moved = 0;              // when `seen` changed last
    std::atomic<std::uint32_t> asked{0}; // gates that it came to

    bool steps() const noexcept { return !opens && !unparks && !resizes && !work.empty(); }
};

class Compute {
public:
    // `finished` is told after each job.
    Compute(
        const Hooks& hooks,
        const Clock& clock,
        const Frames& frames,
        Parking& parking,
        Ledger& ledger,
        Signal& finished
    );
    // Waits for the job under way; set its `abort` first.
    ~Compute();

    // Starts the thread of that class, if it was not yet. Throws Error(SOTTO_ERROR_MEMORY) where it can't.
    void prepare(ThreadClass thread_class);
    // Prepares the class `wanted`, or where no thread can be started for that returns another class that has
    // one. Throws as prepare() does where neither has.
    ThreadClass prepare_any(ThreadClass wanted);
    // Whether threads of that class yield to the game's, as far as is known.
    bool yields(ThreadClass thread_class) const noexcept {
        return thread_class == ThreadClass::idle && !no_idle_class_.load(std::memory_order_relaxed);
    }

    // Runs a job on the thread of its class, which is prepared. The job before must be done.
    void start(Job& job) noexcept;

    // A job that follows the one under way, on the same thread and without a pause, if all streams of that
    // one have more to say.
    void follow_with(Job& job) noexcept;
    // Whether that job has not begun, and will not.
    bool hold_back(Job& job) noexcept;
    // Takes a job back that its thread has not begun. False: it has.
    bool take_back(Job& job) noexcept;
    // Tells a step to end soon, to be taken again.
    void give_up(Job& job) noexcept;
    // Puts the thread of a job from the idle class into the normal one until the thread has no job left,
    // where the system lets it. False: the thread has not come so far yet.
    bool raise(const Job& job) noexcept;
    // Tells a job to end soon.
    void abort(Job& job) noexcept;
    // The gate of the job under way. Not 0: it is to end.
    std::int32_t pass(Job& job) noexcept;

private:
    // One for each thread class: Linux lets no unprivileged thread leave the idle class again.
    struct Worker {
        std::thread thread;
        std::atomic<Job*> job{nullptr};
        std::atomic<Job*> follower{nullptr};
        std::atomic<std::uint64_t> number{0}; // in the system; 0: it has not begun
        std::atomic<bool> raised{false};      // from the idle class
        Signal wake;
    };

    Worker& worker_of(const Job& job) noexcept {
        return workers_[static_cast<std::size_t>(job.thread_class)];
    }
    void work(Worker& worker, ThreadClass thread_class);
    void run(Job& job) noexcept;
    void close(Job& job) noexcept;
    void resize(Job& job);
    void load_adapter(Job& job);
    void recall(Job& job) noexcept;
    Parking::Kept kept_of(Job& job, void* stream, bool similar, bool pinned) noexcept;
    void step(Job& job);

    const Hooks& hooks_;
    const Clock& clock_;
    const Frames& frames_;
    Parking& parking_;
    Ledger& ledger_;
    Signal& finished_;
    Signal gate_; // told when a job that waits at it is to end
    std::atomic<bool> no_idle_class_{false};
    Worker workers_[2];
    std::atomic<bool> stopping_{false};
};

} // namespace sotto
