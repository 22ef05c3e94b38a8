// Scheduling classes of running threads.
#pragma once

#include <sotto/module.h>

namespace sotto::threads {

// The number that the system has for a thread.
using ThreadNumber = unsigned long;
ThreadNumber this_thread_number() noexcept;
// Puts a running thread of this process into a scheduling class, as far as the system allows: leaving the
// idle class needs privileges on Linux.
void set_thread_class(ThreadNumber thread, sotto_thread_class thread_class) noexcept;

} // namespace sotto::threads
