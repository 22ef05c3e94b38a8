// The threads that graphs are computed on.
#include "threads.hpp"

#include <algorithm>
#include <sched.h>

namespace sotto::llama {
namespace {

// Those that the calling thread may run on.
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

// Where it may not, it runs where it did.
void run_on(const std::vector<int>& cores) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores) {
        CPU_SET(core, &set);
    }
    sched_setaffinity(0, sizeof set, &set);
}

} // namespace

ggml_threadpool* ThreadPools::of(sotto_thread_class thread_class, std::uint32_t threads) {
    std::lock_guard lock(mutex_);
    auto& home = homes_[thread_class];
    if (home.cores.empty()) {
        home.cores = own_cores();
    }
    // The system moves threads of the idle class only now and then: two that wait for each other may share a
    // core for long, and those that are moved are moved into the game's way. Where there is one for each
    // core, each has its own.
    const bool apart = thread_class == SOTTO_THREAD_IDLE && threads > 1 && threads == home.cores.size();
    if (home.apart != apart) { // the calling thread is one of them, in ggml's order the last
        run_on(apart ? std::vector{home.cores.back()} : home.cores);
        home.apart = apart;
    }
    auto& pool = pools_[{thread_class, threads}];
    if (!pool) {
        auto wanted = ggml_threadpool_params_default(static_cast<int>(threads));
        wanted.prio = GGML_SCHED_PRIO_NORMAL;
        // Between graphs they sleep: those cores are the game's. But where compute comes first they look out
        // for the next graph for some milliseconds; to be woken for each token would cost a tenth of it.
        wanted.poll = thread_class == SOTTO_THREAD_NORMAL ? 1 : 0;
        wanted.strict_cpu = apart;
        for (const int core : home.cores) {
            wanted.cpumask[core] = apart;
        }
        pool.reset(ggml_threadpool_new(&wanted));
    }
    return pool.get();
}

void ThreadPools::model_opened() {
    std::lock_guard lock(mutex_);
    ++models_;
}

void ThreadPools::model_closed() {
    std::lock_guard lock(mutex_);
    if (--models_ == 0) {
        pools_.clear();
    }
}

} // namespace sotto::llama
