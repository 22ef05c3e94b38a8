// A clock that a test holds in its hands: time stands still until advance() is called.
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

    // Moves time on, and wakes whoever waits.
    void advance(std::int64_t nanoseconds) {
        const std::lock_guard lock(mutex_);
        now_ += nanoseconds;
        fresh_ = false;
        if (sleeper_ != nullptr) {
            sleeper_->notify();
        }
    }

    // Whether the engine, having seen the last advance, soon sleeps until exactly `deadline`.
    bool sleeps_until(std::int64_t deadline) {
        std::unique_lock lock(mutex_);
        return slept_.wait_for(lock, std::chrono::seconds(20), [&] {
            return fresh_ && sleeper_ != nullptr && deadline_ == deadline;
        });
    }

    // Whether the engine soon has nothing to do before its next moment. While a job is under way, that is
    // the report that it has not returned, which does not count.
    bool rests() {
        advance(0);
        std::unique_lock lock(mutex_);
        return slept_.wait_for(lock, std::chrono::seconds(20), [&] {
            return fresh_ && sleeper_ != nullptr && deadline_ - now() < 5 * kSecond;
        });
    }

private:
    std::atomic<std::int64_t> now_;
    std::mutex mutex_; // guards what follows, and keeps the sleeper's signal alive while it is told
    std::condition_variable slept_;
    sotto::Signal* sleeper_ = nullptr;
    std::int64_t deadline_ = 0;
    bool fresh_ = false; // whether it fell asleep since the last advance
};

} // namespace test
