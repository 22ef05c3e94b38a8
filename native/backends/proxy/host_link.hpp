// The engine's services, for threads that may outlive the engine.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string_view>

#include <sotto/module.h>

namespace sotto::proxy {

// Any thread.
class HostLink {
public:
    explicit HostLink(const sotto_backend_host& host) : host_(&host) {}

    // Steps the streams that wait again.
    void wake() noexcept;
    void log(sotto_log_level level, std::string_view line) noexcept;

    // Counts the threads that serve requests.
    void thread_begins() noexcept;
    void thread_ends() noexcept;
    // The engine ends: waits until no thread serves a request any more, or 100 ms. A thread that still asks
    // the system for the address of a host ends by itself later, without the engine.
    void leave() noexcept;

private:
    std::mutex mutex_; // guards the members below
    std::condition_variable ended_;
    const sotto_backend_host* host_; // null after leave()
    unsigned threads_ = 0;
};

} // namespace sotto::proxy
