// A process that forks while this module is in use: a child has none of the threads that hold its locks.
#pragma once

#include <mutex>

namespace sotto::llama {

// From now on a child process begins with all of the module's and ggml's locks open. Once per process.
void survive_forks();

// Before fork(): locks a mutex whose data a child is to find whole. False: another thread held it for a
// second.
bool lock_for_fork(std::mutex& mutex) noexcept;

// Whether this process was forked from one that used the module.
bool was_forked() noexcept;

} // namespace sotto::llama
