#include "gpu/adapter_memory.hpp"

namespace sotto::gpu {

std::vector<AdapterMemory> adapter_memory() {
    return {};
}

} // namespace sotto::gpu
