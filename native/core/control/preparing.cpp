#include "core/control/preparing.hpp"

#include <algorithm>

#include "base/attempt.hpp"
#include "platform/thread.hpp"

namespace sotto {

void PreparingTask::run() noexcept {
    attempt(body, [this](sotto_status status, const char* why) { failure.set(status, why); });
}

PreparingThreads::~PreparingThreads() {
    stopping_ = true;
    for (auto& workers : workers_) {
        for (auto& worker : workers) {
            worker.wake.notify();
            if (worker.thread.joinable()) {
                worker.thread.join();
            }
        }
    }
}

bool PreparingThreads::has_room(bool is_large) const noexcept {
    std::size_t busy = 0;
    std::size_t large = 0;
    for (const auto& workers : workers_) {
        for (const auto& worker : workers) {
            const bool is_busy = worker.is_busy.load(std::memory_order_acquire);
            busy += is_busy ? 1 : 0;
            large += is_busy && worker.is_large ? 1 : 0;
        }
    }
    return busy < kThreads && (!is_large || large + 1 < kThreads);
}

void PreparingThreads::begin(PreparingTask& task, bool yields) {
    auto& workers = workers_[yields ? 1 : 0];
    const auto free = std::find_if(workers.begin(), workers.end(), [](const Worker& worker) {
        return !worker.is_busy.load(std::memory_order_acquire);
    });
    auto& worker = *free;
    if (!worker.thread.joinable()) {
        worker.thread = start_thread([this, &worker, yields] { work(worker, yields); });
    }
    worker.is_large = task.is_large; // nothing throws from here on
    worker.is_busy = true;
    task.is_begun = true;
    worker.task.store(&task, std::memory_order_release);
    worker.wake.notify();
}

void PreparingThreads::work(Worker& worker, bool yields) {
    hooks_.thread_started("prepare");
    if (yields) {
        hooks_.outlives->has_yielding_threads = true;
        lower_thread_priority();
    }
    if (!set_thread_affinity(hooks_.cores)) {
        hooks_.log.debug("threads->affinity names no core that this process may use; it is ignored");
    }
    while (!stopping_.load()) {
        const auto seen = worker.wake.value();
        PreparingTask* task = worker.task.exchange(nullptr, std::memory_order_acquire);
        if (task == nullptr) {
            if (!stopping_.load()) {
                worker.wake.wait(seen, -1);
            }
            continue;
        }
        task->run();
        worker.is_busy.store(false, std::memory_order_release);
        task->done.store(true, std::memory_order_release); // from here on, the control thread owns the task
        finished_.notify();
    }
}

} // namespace sotto
