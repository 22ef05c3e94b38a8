// Threads that parse large request bodies and prepare requests with the backends, so that this work delays
// neither the control thread nor the compute threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>

#include "base/error.hpp"
#include "core/settings.hpp"
#include "platform/signal.hpp"

namespace sotto {

// Requests whose body exceeds this many bytes are parsed and prepared as large tasks.
constexpr std::size_t kLargeBody = 64 * 1024;

// A task of a preparing thread. Owned by the control thread, except while the task is under way.
struct PreparingTask {
    std::function<void()> body; // returns early once `cancelled` is set
    bool is_large = false;
    bool is_begun = false;
    std::atomic<bool> cancelled{false};
    Failure failure;               // out: error that the body threw
    std::atomic<bool> done{false}; // out: set last

    // Runs `body`; sets `failure` if it throws.
    void run() noexcept;
    bool is_under_way() const noexcept { return is_begun && !done.load(std::memory_order_acquire); }
};

// Control thread only.
class PreparingThreads {
public:
    // `finished`: notified after each task.
    PreparingThreads(const Hooks& hooks, Signal& finished) : hooks_(hooks), finished_(finished) {}
    // Waits for the tasks under way; the caller first sets `cancelled` of each, so that they end early.
    ~PreparingThreads();

    // Returns true if a thread is free for another task. One thread is reserved
    // for tasks that are not large, so that large ones do not delay them.
    bool has_room(bool is_large) const noexcept;
    // Starts a task, for which has_room() must be true. `yields`: runs the task on
    // a thread of lower priority. If begin() throws, the task has not started.
    void begin(PreparingTask& task, bool yields);

private:
    static constexpr std::size_t kThreads = 4;

    struct Worker {
        std::thread thread;
        std::atomic<PreparingTask*> task{nullptr};
        Signal wake;
        std::atomic<bool> is_busy{false};
        bool is_large = false; // of the task under way
    };
    using Workers = std::array<Worker, kThreads>;

    void work(Worker& worker, bool yields);

    const Hooks& hooks_;
    Signal& finished_;
    std::array<Workers, 2> workers_; // [0]: threads of normal priority; [1]: of lower priority
    std::atomic<bool> stopping_{false};
};

} // namespace sotto
