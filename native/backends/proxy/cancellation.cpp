#include "backends/proxy/cancellation.hpp"

#include <chrono>

namespace sotto::proxy {

void Cancellation::cancel() noexcept {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    socket_.shut();
    changed_.notify_all();
}

bool Cancellation::is_cancelled() const noexcept {
    const std::lock_guard lock(mutex_);
    return cancelled_;
}

void Cancellation::watch(std::intptr_t socket) noexcept {
    const std::lock_guard lock(mutex_);
    socket_.watch(socket);
    if (cancelled_) {
        socket_.shut();
    }
}

void Cancellation::forget() noexcept {
    const std::lock_guard lock(mutex_);
    socket_.forget();
}

bool Cancellation::sleep_ms(std::int64_t ms) noexcept {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return cancelled_; });
    return !cancelled_;
}

} // namespace sotto::proxy
