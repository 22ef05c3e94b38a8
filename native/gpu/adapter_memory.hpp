// What Windows grants this process of each graphics card's memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sotto::gpu {

struct AdapterMemory {
    std::string name;
    std::uint64_t luid = 0;   // LowPart, and HighPart in the upper half
    std::uint64_t total = 0;  // bytes of its own
    std::uint64_t budget = 0; // bytes that this process may use now, without others suffering
    std::uint64_t used = 0;   // bytes that this process uses
};

// Asks DXGI, which is opened at the first call. None where there is no DXGI. Any thread.
std::vector<AdapterMemory> adapter_memory();

} // namespace sotto::gpu
