#include "runtime/forked.hpp"

#include "runtime/guard.hpp"
#include "runtime/process_end.hpp"

#include <ctime>
#include <mutex>
#include <new>
#include <pthread.h>

// ggml's own, in ggml-threading.cpp: held while tables are made that the process has once.
extern std::mutex ggml_critical_section_mutex;

namespace sotto::llama {
namespace {

bool forked = false;

thread_local bool holds = false;

// Memory is copied while other threads write to it, so none may be at those tables.
void before_fork() {
    holds = lock_for_fork(ggml_critical_section_mutex);
}

void after_in_parent() {
    if (holds) {
        ggml_critical_section_mutex.unlock();
    }
}

// The child has one thread yet.
void after_in_child() {
    forked = true;
    new (&ggml_critical_section_mutex) std::mutex;
    forget_computing_calls();
    forget_who_is_inside();
}

} // namespace

void survive_forks() {
    if (pthread_atfork(before_fork, after_in_parent, after_in_child) != 0) {
        throw std::bad_alloc(); // all that it fails for
    }
}

bool lock_for_fork(std::mutex& mutex) noexcept {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until); // as pthread_mutex_timedlock() wants it
    ++until.tv_sec;                        // a thread that nobody lets run may hold it
    return pthread_mutex_timedlock(mutex.native_handle(), &until) == 0;
}

bool was_forked() noexcept {
    return forked;
}

} // namespace sotto::llama
