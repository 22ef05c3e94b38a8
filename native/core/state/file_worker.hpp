// A thread for file access, so that a slow disk delays neither other threads
// nor the destruction of an engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "core/settings.hpp"
#include "platform/signal.hpp"

namespace sotto {

// A task of the file thread. The file thread and the threads that wait for a task share its ownership: a task
// may outlive the engine, so it may use nothing that the engine owns except host functions.
class FileTask {
public:
    virtual ~FileTask() = default;

    bool has_begun() const noexcept { return begun_.load(std::memory_order_relaxed); }
    bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }
    // Waits until the task is done, at most `timeout_ns`. Returns true if it is done.
    bool wait(std::int64_t timeout_ns) noexcept;
    // Cancels the task unless it has begun.
    void give_up() noexcept { given_up_ = true; }
    bool is_given_up() const noexcept { return given_up_.load(std::memory_order_relaxed); }
    // Makes the next advance() throw, because the engine was destroyed.
    void abandon() noexcept { abandoned_ = true; }
    // How far the task is, from 0 to 1.
    float progress() const noexcept { return progress_.load(std::memory_order_relaxed); }
    // Once the task is done: the error that run() threw.
    const Failure& failure() const noexcept { return failure_; }

protected:
    virtual void run() = 0;
    // Sets progress(), and notifies the worker's signal now and then. Called by run(), last before it makes a
    // file visible. Throws Error(SOTTO_ERROR_CANCELLED) after abandon().
    void advance(float progress);

private:
    friend class FileWorker;
    std::atomic<bool> begun_{false};
    std::atomic<bool> done_{false};
    std::atomic<bool> given_up_{false};
    std::atomic<bool> abandoned_{false};
    Failure failure_;
    std::atomic<float> progress_{0};
    std::function<void()> notify_; // set while the task runs
    Signal signal_;
};

// Runs tasks in FIFO order on one thread, which prepare() or the first task starts.
class FileWorker {
public:
    explicit FileWorker(const Hooks& hooks);
    // Drops the tasks that have not begun. Waits up to 500 ms for the running task, then detaches the thread.
    // After call_host(), waits for the running task without a limit, because a host function must not run
    // after the engine is destroyed.
    ~FileWorker();
    FileWorker(const FileWorker&) = delete;
    FileWorker& operator=(const FileWorker&) = delete;

    // Starts the thread unless it is running. Throws Error(SOTTO_ERROR_MEMORY) if the thread cannot be
    // started. Any thread.
    void prepare();
    // Queues a task. Throws Error(SOTTO_ERROR_MEMORY) if the thread cannot be started, and std::bad_alloc.
    // Any thread.
    void start(std::shared_ptr<FileTask> task);
    // Returns true while a task runs. Any thread.
    bool is_busy() const noexcept;
    // Sets the signal to notify after each task; null: none. Any thread.
    void tell(Signal* finished) noexcept;
    // Declares that tasks may call host functions. Call before the first task.
    void call_host() noexcept { hosts_ = true; }

private:
    struct State;
    static void work(const std::shared_ptr<State>& state) noexcept;

    const Hooks& hooks_;
    const std::shared_ptr<State> state_;
    bool hosts_ = false;
};

} // namespace sotto
