#include "devices/cpu/cores.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

namespace sotto::llama {

bool is_of_idle_class() noexcept {
    return sched_getscheduler(0) == SCHED_IDLE;
}

void yield_core() noexcept {
    sched_yield();
}

void sleep_briefly(std::chrono::microseconds time) noexcept {
    constexpr unsigned long kSlack = 1'000; // ns; timer slack of the kernel, 50,000 by default
    thread_local bool exact = false;
    if (!exact) {
        exact = true;
        prctl(PR_SET_TIMERSLACK, kSlack);
    }
    const timespec requested{0, static_cast<long>(std::chrono::nanoseconds(time).count())};
    nanosleep(&requested, nullptr);
}

// Does nothing, because a new thread inherits the class of the thread that creates it.
void put_into_class(ggml_threadpool* /*pool*/, int /*threads*/, sotto_thread_class /*thread_class*/) {}

std::chrono::nanoseconds thread_cpu_time() noexcept {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

} // namespace sotto::llama
