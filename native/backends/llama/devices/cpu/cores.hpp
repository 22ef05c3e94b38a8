// Cores, classes and CPU time of the threads of graphs, as far as systems differ.
#pragma once

#include "runtime/fence.hpp"

#include <chrono>
#include <ggml-cpu.h>

namespace sotto::llama {

// Returns true if the calling thread is of the idle class, which yields to all others.
bool is_of_idle_class() noexcept;

// Lets another thread that waits for the calling thread's core have it.
void yield_core() noexcept;

// Leaves the core to whoever is moved there. Where the system's sleeps take milliseconds, only yields.
void sleep_briefly(std::chrono::microseconds time) noexcept;

// Puts a new pool's threads into a class, where they are not of their maker's from the start.
void put_into_class(ggml_threadpool* pool, int threads, sotto_thread_class thread_class);

// CPU time that the calling thread has used; 0 where the system does not say.
std::chrono::nanoseconds thread_cpu_time() noexcept;

} // namespace sotto::llama
