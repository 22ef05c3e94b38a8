// Threads that read large requests and have backends prepare requests. Neither the control thread nor a
// compute thread waits for them.
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

// Requests with a body of more bytes are read and prepared as large tasks.
constexpr std::size_t kLargeBody = 64 * 1024;

// One piece of work. The control thread's but while it is under way.
struct PreparingTask {
    std::function<void()> body; // ends soon once `cancelled` is set
    bool is_large = false;
    bool is_begun = false;
    std::atomic<bool> cancelled{false};
    Failure failure;               // out: what the body threw
    std::atomic<bool> done{false}; // out, last of all

    bool is_under_way() const noexcept { return is_begun && !done.load(std::memory_order_acquire); }
};

// Control thread only.
class PreparingThreads {
public:
    // `finished` is notified after each task.
    PreparingThreads(const Hooks& hooks, Signal& finished) : hooks_(hooks), finished_(finished) {}
    // Waits for the tasks under way; set their `cancelled` first.
    ~PreparingThreads();

    // Whether there is a thread for another task. One is always left to those that are not large, so that a
    // large one delays no other.
    bool has_room(bool is_large) const noexcept;
    // Begins a task, for which there must be room. `yields`: on a thread of lower priority. Throws before it
    // is begun, or not at all.
    void begin(PreparingTask& task, bool yields);

private:
    static constexpr std::size_t kThreads = 4;

    struct Worker {
        std::thread thread;
        std::atomic<PreparingTask*> task{nullptr};
        Signal wake;
        std::atomic<bool> is_busy{false};
        bool is_large = false; // the task that it is busy with
    };
    using Workers = std::array<Worker, kThreads>;

    void work(Worker& worker, bool yields);

    const Hooks& hooks_;
    Signal& finished_;
    std::array<Workers, 2> workers_; // those that yield are the second ones
    std::atomic<bool> stopping_{false};
};

} // namespace sotto
