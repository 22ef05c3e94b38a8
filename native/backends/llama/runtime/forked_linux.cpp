// Keeps the module usable after fork(), on Linux.
#include "runtime/forked.hpp"

#include "runtime/guard.hpp"
#include "runtime/process_end.hpp"

#include <ctime>
#include <mutex>
#include <new>
#include <pthread.h>

// ggml's own mutex, in ggml-threading.cpp: held while process-wide tables are initialised.
extern std::mutex ggml_critical_section_mutex;

namespace sotto::llama {
namespace {

bool forked = false;

thread_local bool holds = false;

// Waits up to 1 s until no thread initialises ggml's tables: fork() would copy a table that is only partly
// written.
void before_fork() {
    holds = lock_for_fork(ggml_critical_section_mutex);
}

void after_in_parent() {
    if (holds) {
        ggml_critical_section_mutex.unlock();
    }
}

// Resets the locks. Needs no lock itself, because the child has a single thread.
void after_in_child() {
    forked = true;
    new (&ggml_critical_section_mutex) std::mutex;
    forget_computing_calls();
    forget_who_is_inside();
}

} // namespace

void survive_forks() {
    if (pthread_atfork(before_fork, after_in_parent, after_in_child) != 0) {
        throw std::bad_alloc(); // pthread_atfork() fails only for lack of memory
    }
}

bool lock_for_fork(std::mutex& mutex) noexcept {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until); // pthread_mutex_timedlock() takes this clock
    ++until.tv_sec;                        // limited, as the owner may be a thread that gets no CPU time
    return pthread_mutex_timedlock(mutex.native_handle(), &until) == 0;
}

bool was_forked() noexcept {
    return forked;
}

} // namespace sotto::llama
