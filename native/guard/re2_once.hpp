// Included before RE2's sources and before its headers: std::once_flag and std::call_once whose function may
// throw.
//
// libstdc++ calls the function through pthread_once(). An exception of a failed allocation then passes a
// frame of glibc, whose unwind information names the process's libgcc_s; in a library that is linked with
// -static-libgcc it ends the process.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

namespace std {

class sotto_once_flag { // NOLINT(cert-dcl58-cpp): RE2 writes std::once_flag
public:
    template <typename Function, typename... Arguments>
    void call(Function&& function, Arguments&&... arguments) {
        if (done_.load(std::memory_order_acquire)) {
            return;
        }
        const std::lock_guard lock(mutex_);
        if (!done_.load(std::memory_order_relaxed)) {
            std::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
            done_.store(true, std::memory_order_release);
        }
    }

private:
    std::mutex mutex_;
    std::atomic<bool> done_{false};
};

template <typename Function, typename... Arguments>
void sotto_call_once(sotto_once_flag& flag, Function&& function, Arguments&&... arguments) {
    flag.call(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
}

} // namespace std

#define once_flag sotto_once_flag
#define call_once sotto_call_once
