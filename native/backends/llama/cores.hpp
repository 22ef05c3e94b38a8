// The cores that threads of graphs run on, their class, and CPU time, as far as the system's ways differ.
#pragma once

#include "fence.hpp"

#include <chrono>
#include <ggml-cpu.h>
#include <vector>

namespace sotto::llama {

// Those that the calling thread may run on.
std::vector<int> own_cores();

// Keeps the calling thread to some. Where the system will not, it runs where it did.
void run_on(const std::vector<int>& cores) noexcept;

// Puts a new pool's threads into a class, where they are not of their maker's from the start.
void put_into_class(ggml_threadpool* pool, int threads, sotto_thread_class thread_class);

// CPU time that the calling thread has used; 0 where the system does not say.
std::chrono::nanoseconds thread_cpu_time() noexcept;

} // namespace sotto::llama
