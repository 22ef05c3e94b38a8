// The cores that threads of graphs run on, and their class, as far as the system's ways differ.
#pragma once

#include "fence.hpp"

#include <ggml-cpu.h>
#include <vector>

namespace sotto::llama {

// Those that the calling thread may run on.
std::vector<int> own_cores();

// Keeps the calling thread to some. Where the system will not, it runs where it did.
void run_on(const std::vector<int>& cores) noexcept;

// Puts a new pool's threads into a class, where they are not of their maker's from the start.
void put_into_class(ggml_threadpool* pool, int threads, sotto_thread_class thread_class);

} // namespace sotto::llama
