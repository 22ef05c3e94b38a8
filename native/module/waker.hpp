// Notifies the engine that streams whose backend waits for something outside of the engine may continue.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "platform/signal.hpp"

namespace sotto {

// Any thread.
class Waker {
public:
    // Sets the signal that wake() notifies. Null: none; wake() no longer uses the previous signal afterwards.
    void tell(Signal* signal) noexcept {
        const std::lock_guard lock(mutex_);
        signal_ = signal;
    }
    void wake() noexcept {
        count_.fetch_add(1);
        const std::lock_guard lock(mutex_);
        if (signal_ != nullptr) {
            signal_->notify();
        }
    }
    // Number of calls of wake() so far.
    std::uint32_t count() const noexcept { return count_.load(); }

private:
    std::atomic<std::uint32_t> count_{0};
    std::mutex mutex_; // guards signal_
    Signal* signal_ = nullptr;
};

} // namespace sotto
