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
    // `finished` is told after each job.
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
    Signal gate_; // told when a job that waits at it is to end
    std::atomic<bool> no_idle_class_{false};
    Worker workers_[2];
    std::atomic<bool> stopping_{false};
};

} // namespace sotto
