// Threads, as far as the standard library does not reach: their names, classes and cores.
#pragma once

#include <cstdint>
#include <string>

namespace sotto {

enum class ThreadClass : std::int32_t { normal = 0, idle = 1 };

// Names the calling thread for debuggers; long names are cut.
void set_thread_name(const std::string& name) noexcept;

// Puts the calling thread, and threads it will start, into a class. False if the system would not.
// Without privileges there is no way back from idle.
bool set_thread_class(ThreadClass thread_class) noexcept;

// Keeps the calling thread, and threads it will start, to the cores whose bits are set. 0: leaves it.
bool set_thread_affinity(std::uint64_t cores) noexcept;

// How many cores this process may use, at least 1.
unsigned usable_cores() noexcept;

} // namespace sotto
