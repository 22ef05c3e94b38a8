// Ends an exchange with a server from another thread, whatever the exchange waits for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sotto::proxy {

// The socket that an exchange uses, so that another thread can end its waits.
class SocketWatch {
public:
    SocketWatch() = default;
    ~SocketWatch() { forget(); }
    SocketWatch(const SocketWatch&) = delete;
    SocketWatch& operator=(const SocketWatch&) = delete;

    // Replaces the socket. `socket`: a handle of the system, which may still be connecting.
    void watch(std::intptr_t socket) noexcept;
    // Ends all waits for the socket, now and later. Does not close the exchange's handle.
    void shut() const noexcept;
    void forget() noexcept;

private:
    std::intptr_t own_ = -1; // a handle of our own: the exchange may close its handle at any time
};

// Any thread.
class Cancellation {
public:
    void cancel() noexcept;
    bool is_cancelled() const noexcept;
    // Called for each socket of the exchange, before it connects.
    void watch(std::intptr_t socket) noexcept;
    // Called when the exchange no longer uses a socket.
    void forget() noexcept;
    // Waits. Returns false if cancelled.
    bool sleep_ms(std::int64_t ms) noexcept;

private:
    mutable std::mutex mutex_; // guards the members below
    std::condition_variable changed_;
    bool cancelled_ = false;
    SocketWatch socket_;
};

} // namespace sotto::proxy
