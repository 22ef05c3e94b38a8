// Keeps the module usable after fork(): resets locks in the child, which has none of the threads that may
// hold them.
#pragma once

#include <mutex>

namespace sotto::llama {

// Registers fork handlers that reset all locks of the module and of ggml in a child. Once per process.
void survive_forks();

// Locks a mutex before fork(), so that the child finds its data consistent. Returns false if another thread
// held the mutex for a second.
bool lock_for_fork(std::mutex& mutex) noexcept;

// Returns true if this process was forked from one that had used the module.
bool was_forked() noexcept;

} // namespace sotto::llama
