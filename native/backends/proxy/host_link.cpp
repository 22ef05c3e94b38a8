#include "backends/proxy/host_link.hpp"

#include <chrono>

namespace sotto::proxy {

void HostLink::wake() noexcept {
    const std::lock_guard lock(mutex_);
    if (host_ != nullptr && host_->wake != nullptr) {
        host_->wake(host_->context);
    }
}

void HostLink::log(sotto_log_level level, std::string_view line) noexcept {
    const std::lock_guard lock(mutex_);
    if (host_ != nullptr && host_->log != nullptr && level <= host_->log_level) {
        host_->log(host_->context, level, {line.data(), line.size()});
    }
}

void HostLink::thread_begins() noexcept {
    const std::lock_guard lock(mutex_);
    ++threads_;
}

void HostLink::thread_ends() noexcept {
    const std::lock_guard lock(mutex_);
    --threads_;
    ended_.notify_all();
}

void HostLink::leave() noexcept {
    constexpr auto kPatience = std::chrono::milliseconds(100);
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, kPatience, [&] { return threads_ == 0; });
    host_ = nullptr;
}

} // namespace sotto::proxy
