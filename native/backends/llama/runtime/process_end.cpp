// Delays process exit until the calls that use ggml's static variables have ended.
#include "runtime/process_end.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace sotto::llama {
namespace {

// Number of running calls. Not a mutex: some systems end threads before they notify modules of the process's
// exit, and an ended thread would never unlock a mutex.
std::atomic<int> inside{0};
std::atomic<bool> ends{false};

void on_exit() {
    // the wait is limited, because the thread that ends the process may be counted in `inside`
    constexpr auto max = std::chrono::seconds(2);
    constexpr auto look = std::chrono::milliseconds(1);
    ends = true;
    const auto until = std::chrono::steady_clock::now() + max;
    while (inside.load() > 0 && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(look);
    }
}

} // namespace

Inside::Inside() noexcept {
    ++inside;
    entered_ = !ends.load();
    if (!entered_) {
        --inside;
    }
}

Inside::~Inside() {
    if (entered_) {
        --inside;
    }
}

bool process_ends() noexcept {
    return ends.load(std::memory_order_relaxed);
}

void end_with_process() {
    std::atexit(on_exit);
}

void forget_who_is_inside() noexcept {
    inside = 0;
}

} // namespace sotto::llama
