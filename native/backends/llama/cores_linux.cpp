#include "cores.hpp"

#include <algorithm>
#include <sched.h>
#include <time.h>

namespace sotto::llama {

std::vector<int> own_cores() {
    cpu_set_t set;
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int core = 0; core < std::min<int>(CPU_SETSIZE, GGML_MAX_N_THREADS); ++core) {
            if (CPU_ISSET(core, &set)) {
                cores.push_back(core);
            }
        }
    }
    return cores;
}

void run_on(const std::vector<int>& cores) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores) {
        CPU_SET(core, &set);
    }
    sched_setaffinity(0, sizeof set, &set);
}

// They are: a new thread is of the class of the one that makes it.
void put_into_class(ggml_threadpool* /*pool*/, int /*threads*/, sotto_thread_class /*thread_class*/) {}

std::chrono::nanoseconds thread_cpu_time() noexcept {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

} // namespace sotto::llama
