// The compute threads, which run models, one job at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "core/control/job.hpp"
#include "core/schedule/frame.hpp"
#include "core/settings.hpp"
#include "platform/signal.hpp"
#include "platform/thread.hpp"

namespace sotto {

class Compute {
public:
    // `finished`: notified after each job.
    Compute(
        const Hooks& hooks,
        const Clock& clock,
        const Frames& frames,
        KvStateStore& kv_states,
        Ledger& ledger,
        Signal& finished
    );
    // Waits for the job under way: set its `abort` first.
    ~Compute();

    // Starts the thread of a class if it is not running. Throws
    // Error(SOTTO_ERROR_MEMORY) if it cannot be started.
    void prepare(ThreadClass thread_class);
    // Starts the thread of the class `wanted` if it is not running, and returns `wanted`. If
    // that thread cannot be started, returns the other class if the thread of that class is
    // running; otherwise throws Error(SOTTO_ERROR_MEMORY).
    ThreadClass prepare_any(ThreadClass wanted);
    // Returns true if threads of a class yield to the game's threads, as far as is known.
    bool yields(ThreadClass thread_class) const noexcept {
        return thread_class == ThreadClass::idle && !no_idle_class_.load(std::memory_order_relaxed);
    }

    // Starts a job on the thread of its class, which
    // must be prepared. The previous job must be done.
    void start(Job& job) noexcept;

    // Queues a job that starts on the same thread, without a pause, when the
    // job under way ends, if all streams of that job have more to generate.
    void follow_with(Job& job) noexcept;
    // Removes the queued job. Returns false if the queued job has already started.
    bool hold_back(Job& job) noexcept;
    // Takes a job back from its thread. Returns false if the job has already started.
    bool take_back(Job& job) noexcept;
    // Ends a step early, so that it can be repeated.
    void give_up(Job& job) noexcept;
    // Moves the thread of a job from the idle class to the normal class until the thread has no job
    // left, if the system permits it. Returns false if the thread has not started running yet.
    bool raise(const Job& job) noexcept;
    // Ends a job early.
    void abort(Job& job) noexcept;
    // Called by the job under way at each gate: may wait until the game has finished its
    // work on the current frame. Returns nonzero if the job must end.
    std::int32_t pass(Job& job) noexcept;

private:
    // One per thread class: on Linux an unprivileged thread cannot leave the idle class again.
    struct Worker {
        std::thread thread;
        std::atomic<Job*> job{nullptr};
        std::atomic<Job*> follower{nullptr};
        std::atomic<std::uint64_t> number{0}; // thread_number(); 0: not running yet
        std::atomic<bool> raised{false};      // moved out of the idle class
        Signal wake;
    };

    Worker& worker_of(const Job& job) noexcept {
        return workers_[static_cast<std::size_t>(job.thread_class)];
    }
    void work(Worker& worker, ThreadClass thread_class);
    void run(Job& job) noexcept;
    void close(Job& job) noexcept;
    void run(Job& job, CloseJob& what) noexcept;
    void run(Job& job, AdapterJob& what);
    void run(Job& job, ResizeJob& what);
    void run(Job& job, OpenJob& what);
    void run(Job& job, ResumeJob& what);
    void run(Job& job, StepJob& what);
    bool enter(Job& job, EnterJob& what);
    KvStateStore::Kept kept_of(Job& job, void* stream, bool similar, bool pinned) noexcept;

    const Hooks& hooks_;
    const Clock& clock_;
    const Frames& frames_;
    KvStateStore& kv_states_;
    Ledger& ledger_;
    Signal& finished_;
    Signal gate_; // notified if a job waiting at its gate must end
    std::atomic<bool> no_idle_class_{false};
    Worker workers_[2];
    std::atomic<bool> stopping_{false};
};

} // namespace sotto
