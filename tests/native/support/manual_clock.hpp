// A manual clock: time stands still until advance() is called.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "platform/clock.hpp"

namespace test {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

// One thread at a time may wait on it, as an engine's control thread does.
class ManualClock final : public sotto::Clock {
public:
    explicit ManualClock(std::int64_t now = kSecond) : now_(now) {}

    std::int64_t now() const noexcept override { return now_.load(); }

    void wait(sotto::Signal& signal, std::uint32_t seen, std::int64_t deadline) noexcept override {
        {
            const std::lock_guard lock(mutex_);
            if (deadline <= now() || signal.value() != seen) {
                return;
            }
            sleeper_ = &signal;
            deadline_ = deadline;
            fresh_ = true;
        }
        slept_.notify_all();
        signal.wait(seen, -1);
        const std::lock_guard lock(mutex_);
        sleeper_ = nullptr;
    }

    // Advances the time and wakes the waiting thread.
    void advance(std::int64_t nanoseconds) {
        const std::lock_guard lock(mutex_);
        now_ += nanoseconds;
        fresh_ = false;
        if (sleeper_ != nullptr) {
            sleeper_->notify();
        }
    }

    // Returns true if the engine, after the last advance, soon waits until exactly `deadline`.
    bool sleeps_until(std::int64_t deadline) {
        std::unique_lock lock(mutex_);
        return slept_.wait_for(lock, std::chrono::seconds(20), [&] {
            return fresh_ && sleeper_ != nullptr && deadline_ == deadline;
        });
    }

    // Returns true if the engine soon has no work before a later time. The timer that reports a job that does
    // not return is ignored.
    bool rests() {
        advance(0);
        std::unique_lock lock(mutex_);
        return slept_.wait_for(lock, std::chrono::seconds(20), [&] {
            return fresh_ && sleeper_ != nullptr && deadline_ - now() < 5 * kSecond;
        });
    }

private:
    std::atomic<std::int64_t> now_;
    // guards the members below, and keeps the waiting thread's signal alive while it is notified
    std::mutex mutex_;
    std::condition_variable slept_;
    sotto::Signal* sleeper_ = nullptr;
    std::int64_t deadline_ = 0;
    bool fresh_ = false; // the thread has begun to wait since the last advance
};

} // namespace test
