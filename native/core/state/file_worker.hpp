// A thread for file access, so that a slow disk keeps nobody else waiting, nor the end of an engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/settings.hpp"
#include "platform/signal.hpp"

namespace sotto {

// What the thread does next. Shared by the thread and whoever waits for it: it may touch nothing that goes
// with the engine, but for functions of the host's.
class FileTask {
public:
    virtual ~FileTask() = default;

    bool has_begun() const noexcept { return begun_.load(std::memory_order_relaxed); }
    bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }
    // Waits until it is done, at most `timeout_ns`. Returns whether it is.
    bool wait(std::int64_t timeout_ns) noexcept;
    // Nobody waits for it any more: if it has not begun, it won't.
    void give_up() noexcept { given_up_ = true; }

protected:
    virtual void run() noexcept = 0;

private:
    friend class FileWorker;
    std::atomic<bool> begun_{false};
    std::atomic<bool> done_{false};
    std::atomic<bool> given_up_{false};
    Signal signal_;
};

// Runs tasks in FIFO order, on a thread that starts with the first one if prepare() did not start it.
class FileWorker {
public:
    explicit FileWorker(const Hooks& hooks);
    // Drops the tasks that have not begun. Waits up to half a second for the one that has, then leaves the
    // thread to itself, unless `hosts`: a function of the host's is not called behind its back.
    ~FileWorker();
    FileWorker(const FileWorker&) = delete;
    FileWorker& operator=(const FileWorker&) = delete;

    // Starts the thread, if it was not yet. Throws Error(SOTTO_ERROR_MEMORY) where it can't. Any thread.
    void prepare();
    // Throws as prepare() does, and std::bad_alloc. Any thread.
    void start(std::shared_ptr<FileTask> task);
    // Whether it is at a task. Any thread.
    bool is_busy() const noexcept;
    // Whom to notify after each task; null: nobody. Any thread.
    void tell(Signal* finished) noexcept;
    // Says that tasks may call functions of the host's. Before the first task.
    void call_host() noexcept { hosts_ = true; }

private:
    struct State;
    static void work(const std::shared_ptr<State>& state) noexcept;

    const Hooks& hooks_;
    const std::shared_ptr<State> state_;
    bool hosts_ = false;
};

} // namespace sotto
