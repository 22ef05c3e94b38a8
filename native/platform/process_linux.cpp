#include "platform/process.hpp"

#include <atomic>
#include <ctime>

#include <pthread.h>

namespace sotto {
namespace {

std::atomic<unsigned> g_generation{0};

pthread_mutex_t g_no_fork = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
thread_local bool holds = false;
thread_local bool forks = false;
thread_local unsigned depth = 0;  // NoFork objects of this thread
std::atomic<unsigned> g_forks{0}; // forks in progress

void before_fork() {
    forks = true;
    g_forks.fetch_add(1);
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until); // pthread_mutex_timedlock() uses this clock
    ++until.tv_sec;                        // the lock may be held by a thread that gets no CPU time
    holds = pthread_mutex_timedlock(&g_no_fork, &until) == 0;
}

void after_in_parent() {
    if (holds) {
        pthread_mutex_unlock(&g_no_fork);
    }
    forks = false;
    g_forks.fetch_sub(1);
}

// Waits until all forks in progress have finished. Opening a module registers the module's fork handlers, but
// a fork() that began earlier does not call them. Such a fork() must not copy the module's locks while a
// thread holds them.
void let_forks_go_first() noexcept {
    constexpr timespec kPause{0, 100'000};
    // 1 s at most: the forking thread may get no CPU time
    for (int i = 0; i < 10'000 && g_forks.load() > 0; ++i) {
        nanosleep(&kPause, nullptr);
    }
}

void after_in_child() { // the child has a single thread
    g_no_fork = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    forks = false;
    depth = 0;
    g_forks = 0;
    g_generation.fetch_add(1, std::memory_order_relaxed);
}

[[maybe_unused]] const int g_registered = pthread_atfork(before_fork, after_in_parent, after_in_child);

} // namespace

NoFork::NoFork() noexcept {
    pthread_mutex_lock(&g_no_fork);
    ++depth;
}

NoFork::~NoFork() {
    --depth;
    pthread_mutex_unlock(&g_no_fork);
    if (depth == 0 && !forks) {
        let_forks_go_first();
    }
}

unsigned process_generation() noexcept {
    return g_generation.load(std::memory_order_relaxed);
}

} // namespace sotto
