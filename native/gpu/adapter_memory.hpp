// The memory of each GPU that Windows grants to this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sotto::gpu {

struct AdapterMemory {
    std::string name;
    std::uint64_t luid = 0;   // LowPart in the lower 32 bits, HighPart in the upper
    std::uint64_t total = 0;  // bytes of dedicated video memory
    std::uint64_t budget = 0; // bytes that this process may currently use without evicting others
    std::uint64_t used = 0;   // bytes in use by this process
};

// Returns the memory of all GPUs, as DXGI reports it; an empty list without DXGI. The first call opens DXGI.
// Any thread.
std::vector<AdapterMemory> adapter_memory();

} // namespace sotto::gpu
