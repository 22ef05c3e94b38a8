// The thread that runs models, one job at a time.
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
    // `finished` is notified after each job.
    Compute(
        const Hooks& hooks,
        const Clock& clock,
        const Frames& frames,
        KvStateStore& parking,
        Ledger& ledger,
        Signal& finished
    );
    // Waits for the job under way; set its `abort` first.
    ~Compute();

    // Starts the thread of a class unless it runs. Throws Error(SOTTO_ERROR_MEMORY) if it cannot be started.
    void prepare(ThreadClass thread_class);
    // Prepares the class `wanted` and returns it. If its thread cannot be started, returns the other class if
    // that has a thread, and otherwise throws like prepare().
    ThreadClass prepare_any(ThreadClass wanted);
    // Returns true if threads of the class yield to the game's threads, as far as is known.
    bool yields(ThreadClass thread_class) const noexcept {
        return thread_class == ThreadClass::idle && !no_idle_class_.load(std::memory_order_relaxed);
    }

    // Runs a job on the thread of its class, which must be prepared. The previous job must be done.
    void start(Job& job) noexcept;

    // Sets the job that follows the running one on the same thread without a pause, if all streams of the
    // running job have more tokens to generate.
    void follow_with(Job& job) noexcept;
    // Returns true if the job that was to follow has not begun and will not begin.
    bool hold_back(Job& job) noexcept;
    // Takes back a job. Returns false if its thread has begun it.
    bool take_back(Job& job) noexcept;
    // Aborts a step, which is repeated later.
    void give_up(Job& job) noexcept;
    // Moves the thread of a job from the idle class to the normal one until the thread has no job left, if
    // the system permits. Returns false if the thread has not started the job yet.
    bool raise(const Job& job) noexcept;
    // Aborts a job.
    void abort(Job& job) noexcept;
    // The gate of the running job. Returns nonzero if the job has to end.
    std::int32_t pass(Job& job) noexcept;

private:
    // One thread per class: on Linux, an unprivileged thread cannot leave the idle class.
    struct Worker {
        std::thread thread;
        std::atomic<Job*> job{nullptr};
        std::atomic<Job*> follower{nullptr};
        std::atomic<std::uint64_t> number{0}; // thread id in the system; 0: not started
        std::atomic<bool> raised{false};      // from the idle class
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
    KvStateStore& parking_;
    Ledger& ledger_;
    Signal& finished_;
    Signal gate_; // notified when a job that waits at it has to end
    std::atomic<bool> no_idle_class_{false};
    Worker workers_[2];
    std::atomic<bool> stopping_{false};
};

} // namespace sotto
