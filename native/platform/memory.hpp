// Memory of the machine and of this process, as the operating system reports it.
#pragma once

#include <cstdint>
#include <optional>

namespace sotto {

struct SystemMemory {
    std::uint64_t total = 0;     // bytes of the machine, or of the container if it has less
    std::uint64_t available = 0; // bytes that could be allocated without swapping
    // Bytes of this process: `own`, anonymous memory (RssAnon; on Windows the commit size), and `mapped`,
    // resident pages of files.
    std::uint64_t own = 0;
    std::uint64_t mapped = 0;
};

// Returns nothing if the system does not report memory.
std::optional<SystemMemory> system_memory();

} // namespace sotto
