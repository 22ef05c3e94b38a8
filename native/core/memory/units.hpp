// Formats sizes in bytes for messages.
#pragma once

#include <cstdint>
#include <string>

namespace sotto {

// Returns a size in megabytes of 1,048,576 bytes, rounded up, as text with the unit.
inline std::string megabytes(std::uint64_t bytes) {
    constexpr std::uint64_t kMegabyte = 1 << 20;
    return std::to_string(bytes / kMegabyte + (bytes % kMegabyte != 0 ? 1 : 0)) + " MB";
}

} // namespace sotto
