// Cores, scheduling classes and CPU time of graph threads; one implementation per operating system.
#pragma once

#include "runtime/fence.hpp"

#include <chrono>
#include <ggml-cpu.h>

namespace sotto::llama {

// Returns true if the calling thread is in the idle scheduling class, which yields to all other classes.
bool is_of_idle_class() noexcept;

// Yields the calling thread's core to another runnable thread.
void yield_core() noexcept;

// Sleeps, so that the core is free for other threads. Only yields if the system's sleeps take milliseconds.
void sleep_briefly(std::chrono::microseconds time) noexcept;

// Sets the scheduling class of a new pool's threads, on systems where new threads do not inherit the class of
// the thread that creates them.
void put_into_class(ggml_threadpool* pool, int threads, sotto_thread_class thread_class);

// Returns the CPU time that the calling thread has used; 0: unknown.
std::chrono::nanoseconds thread_cpu_time() noexcept;

} // namespace sotto::llama
