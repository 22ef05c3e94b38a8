#include "platform/process.hpp"

#include <ctime>

#include <pthread.h>

namespace sotto {
namespace {

std::atomic<unsigned> g_generation{0};

pthread_mutex_t g_no_fork = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
thread_local bool holds = false;

void before_fork() {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until); // as pthread_mutex_timedlock() wants it
    ++until.tv_sec;                        // a thread that nobody lets run may hold it
    holds = pthread_mutex_timedlock(&g_no_fork, &until) == 0;
}

void after_in_parent() {
    if (holds) {
        pthread_mutex_unlock(&g_no_fork);
    }
}

void after_in_child() { // which has one thread
    g_no_fork = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    g_generation.fetch_add(1, std::memory_order_relaxed);
}

[[maybe_unused]] const int g_registered = pthread_atfork(before_fork, after_in_parent, after_in_child);

} // namespace

NoFork::NoFork() noexcept {
    pthread_mutex_lock(&g_no_fork);
}

NoFork::~NoFork() {
    pthread_mutex_unlock(&g_no_fork);
}

unsigned process_generation() noexcept {
    return g_generation.load(std::memory_order_relaxed);
}

} // namespace sotto
