// Threads that read large requests, and prepare requests with the backends.
// Neither the control thread nor the compute threads wait for them.
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

// Requests with a larger body, in bytes, are read and prepared as large tasks.
constexpr std::size_t kLargeBody = 64 * 1024;

// One task. Owned by the control thread, except while it is under way.
struct PreparingTask {
    std::function<void()> body; // returns early once `cancelled` is set
    bool is_large = false;
    bool is_begun = false;
    std::atomic<bool> cancelled{false};
    Failure failure;               // out: error that the body threw
    std::atomic<bool> done{false}; // out: set last

    bool is_under_way() const noexcept { return is_begun && !done.load(std::memory_order_acquire); }
};

// Control thread only.
class PreparingThreads {
public:
    // `finished`: notified after each task.
    PreparingThreads(const Hooks& hooks, Signal& finished) : hooks_(hooks), finished_(finished) {}
    // Waits for the tasks under way: set their `cancelled` first.
    ~PreparingThreads();

    // Returns true if a thread is free for another task. One thread is reserved
    // for tasks that are not large, so that large ones do not delay them.
    bool has_room(bool is_large) const noexcept;
    // Starts a task, for which has_room() must be true. `yields`: on a
    // thread of lower priority. If it throws, the task has not started.
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
    std::array<Workers, 2> workers_; // [1]: threads that yield
    std::atomic<bool> stopping_{false};
};

} // namespace sotto
