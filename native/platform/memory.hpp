// What the system says of memory.
#pragma once

#include <cstdint>
#include <optional>

namespace sotto {

struct SystemMemory {
    std::uint64_t total = 0;     // of the machine, or of the container if that has less
    std::uint64_t available = 0; // that could be taken without others suffering
    // Of this process: its own, that is in no file (RssAnon); and what of mapped files is in memory.
    std::uint64_t own = 0;
    std::uint64_t mapped = 0;
};

// Nothing where the system does not say.
std::optional<SystemMemory> system_memory();

} // namespace sotto
