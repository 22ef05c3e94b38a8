// What Vulkan's driver says of a graphics card's memory.
#pragma once

#include <cstdint>
#include <optional>
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

} // namespace sotto::gpu
