#include "core/state/file_worker.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/attempt.hpp"
#include "platform/clock.hpp"
#include "platform/dynlib.hpp"
#include "platform/thread.hpp"

namespace sotto {
namespace {

// Waits for `signal` until `is_over` returns true, at most `timeout_ns`.
// Returns what `is_over` returned last.
template <typename IsOver>
bool wait_until(Signal& signal, std::int64_t timeout_ns, const IsOver& is_over) noexcept {
    const auto now = system_clock().now();
    const auto deadline = timeout_ns < kNever - now ? now + timeout_ns : kNever;
    for (;;) {
        const auto seen = signal.value();
        const auto left = deadline - system_clock().now();
        if (is_over() || left <= 0) {
            return is_over();
        }
        signal.wait(seen, left);
    }
}

} // namespace

// State shared with the file thread; the thread and this state may outlive their FileWorker.
struct FileWorker::State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::shared_ptr<FileTask>> tasks;
    FileTask* running = nullptr;
    std::thread thread;
    Signal* finished = nullptr;
    bool started = false; // the thread-start hook has returned
    bool stopping = false;
    std::atomic<bool> busy{false};
    std::atomic<bool> ended{false};
    Signal gone;
};

bool FileTask::wait(std::int64_t timeout_ns) noexcept {
    return wait_until(signal_, timeout_ns, [this] { return is_done(); });
}

void FileTask::advance(float progress) {
    if (abandoned_) {
        throw Error(SOTTO_ERROR_CANCELLED, "the engine was destroyed");
    }
    constexpr float kStep = 0.02F;
    if (progress >= progress_.load(std::memory_order_relaxed) + kStep) {
        progress_.store(progress, std::memory_order_relaxed);
        notify_();
    }
}

FileWorker::FileWorker(const Hooks& hooks) : hooks_(hooks), state_(std::make_shared<State>()) {}

bool FileWorker::is_busy() const noexcept {
    return state_->busy.load(std::memory_order_relaxed);
}

void FileWorker::tell(Signal* finished) noexcept {
    const std::lock_guard lock(state_->mutex);
    state_->finished = finished;
}

FileWorker::~FileWorker() {
    constexpr std::int64_t kPatience = 500'000'000;
    std::unique_lock lock(state_->mutex);
    if (!state_->thread.joinable()) {
        return;
    }
    state_->stopping = true;
    state_->tasks.clear();
    state_->changed.notify_all();
    state_->changed.wait(lock, [&] { return state_->started; });
    state_->finished = nullptr;
    lock.unlock();
    const auto ended = [&] { return state_->ended.load(); };
    if (wait_until(state_->gone, hosts_ ? kNever : kPatience, ended)) {
        state_->thread.join();
    } else {
        lock.lock();
        if (state_->running != nullptr) {
            state_->running->abandon(); // it must not replace a file that a later engine writes
        }
        lock.unlock();
        (void)keep_loaded(); // the host must not unload code that the detached thread runs
        state_->thread.detach();
    }
}

void FileWorker::prepare() {
    const std::lock_guard lock(state_->mutex);
    if (!state_->thread.joinable()) {
        state_->thread = start_thread([state = state_, hooks = &hooks_] {
            hooks->thread_started("files");
            work(state);
        });
    }
}

void FileWorker::start(std::shared_ptr<FileTask> task) {
    prepare();
    const std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
    state_->changed.notify_all();
}

void FileWorker::work(const std::shared_ptr<State>& state) noexcept {
    std::unique_lock lock(state->mutex);
    state->started = true;
    state->changed.notify_all();
    while (!state->stopping) {
        if (state->tasks.empty()) {
            state->changed.wait(lock);
            continue;
        }
        auto task = std::move(state->tasks.front());
        state->tasks.pop_front();
        state->running = task.get();
        lock.unlock();
        state->busy.store(true, std::memory_order_relaxed);
        task->begun_.store(true, std::memory_order_relaxed);
        const auto notify = [&state = *state] {
            const std::lock_guard guard(state.mutex);
            if (state.finished != nullptr) {
                state.finished->notify();
            }
        };
        task->notify_ = std::ref(notify); // allocates nothing
        if (!task->given_up_) {
            attempt(
                [&] { task->run(); },
                [&](sotto_status status, const char* why) { task->failure_.set(status, why); }
            );
        }
        state->busy.store(false, std::memory_order_relaxed);
        task->done_.store(true, std::memory_order_release);
        task->signal_.notify();
        lock.lock();
        state->running = nullptr;
        lock.unlock();
        task.reset(); // frees the task without the lock: freeing its buffers may take long
        lock.lock();
        if (state->finished != nullptr) {
            state->finished->notify();
        }
    }
    lock.unlock();
    state->ended = true;
    state->gone.notify();
}

} // namespace sotto
