// GPUs and their memory as the Vulkan driver reports them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sotto::gpu {

struct VulkanMemory {
    std::uint64_t total = 0;     // bytes of the GPU
    std::uint64_t available = 0; // bytes that this process can still take without evicting others
    std::uint64_t process = 0;   // bytes in use by this process, including its rendering
};

// Returns the memory of the GPU that `device` names, as in sotto_engine_desc.device. Returns nothing without
// Vulkan, without such a GPU, or if the driver lacks VK_EXT_memory_budget. The first call opens the driver.
std::optional<VulkanMemory> vulkan_memory(std::string_view device);

// Returns the UUID of the GPU with that LUID, which must not be 0. Throws Error(SOTTO_ERROR_UNSUPPORTED) if
// Vulkan has no such GPU. The first call opens the driver.
std::string vulkan_uuid(std::uint64_t luid);

} // namespace sotto::gpu
