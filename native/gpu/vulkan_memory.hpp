// What Vulkan's driver says of the graphics cards there are, and of their memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sotto::gpu {

struct VulkanMemory {
    std::uint64_t total = 0;     // of the card
    std::uint64_t available = 0; // that this process could still take without harm to others
    std::uint64_t process = 0;   // that this process has, its graphics too
};

// Of the card that `device` names as sotto_engine_desc.device does. Nothing where there is no Vulkan, no such
// card, or a driver that does not say (VK_EXT_memory_budget). The first time, the driver is opened.
std::optional<VulkanMemory> vulkan_memory(std::string_view device);

// The UUID of the card with that LUID, which is not 0. Throws Error(SOTTO_ERROR_UNSUPPORTED). Likewise.
std::string vulkan_uuid(std::uint64_t luid);

} // namespace sotto::gpu
