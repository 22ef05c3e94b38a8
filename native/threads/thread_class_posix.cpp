#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads/thread_class.hpp"

namespace sotto::threads {

ThreadNumber this_thread_number() noexcept {
    return static_cast<ThreadNumber>(syscall(SYS_gettid));
}

void set_thread_class(ThreadNumber thread, sotto_thread_class thread_class) noexcept {
    const sched_param none{};
    const int policy = thread_class == SOTTO_THREAD_IDLE ? SCHED_IDLE : SCHED_OTHER;
    sched_setscheduler(static_cast<pid_t>(thread), policy, &none); // of a thread's number: that thread alone
}

} // namespace sotto::threads
