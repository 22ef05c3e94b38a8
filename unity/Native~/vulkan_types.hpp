// Types of Vulkan that the plugin uses, declared here so that building needs no Vulkan headers.
// tests/vulkan/types_check.cpp compares them with the headers.
#pragma once

#include <cstdint>

#if defined(_WIN32)
#  define SOTTO_UNITY_VULKAN_CALL __stdcall
#else
#  define SOTTO_UNITY_VULKAN_CALL
#endif

namespace sotto::unity::vk {

using Result = std::int32_t;

// Type of the struct that VK_NV_external_compute_queue adds to VkDeviceCreateInfo.
constexpr std::int32_t kExternalDeviceInfo = 1000556000;

// What each struct of a `pNext` chain begins with.
struct Chained {
    std::int32_t type;
    const void* next;
};

// VkExternalComputeQueueDeviceCreateInfoNV.
struct ExternalDeviceInfo {
    std::int32_t type;
    const void* next;
    std::uint32_t reserved_queues;
};

// VkDeviceCreateInfo.
struct DeviceInfo {
    std::int32_t type;
    const void* next;
    std::uint32_t flags;
    std::uint32_t queue_count;
    const void* queues;
    std::uint32_t layer_count;
    const char* const* layers;
    std::uint32_t extension_count;
    const char* const* extensions;
    const void* features;
};

using CreateDevice = Result(SOTTO_UNITY_VULKAN_CALL*)(
    void* physical_device, const DeviceInfo* info, const void* allocator, void** device
);
using DestroyInstance = void(SOTTO_UNITY_VULKAN_CALL*)(void* instance, const void* allocator);
using EnumeratePhysicalDevices =
    Result(SOTTO_UNITY_VULKAN_CALL*)(void* instance, std::uint32_t* count, void** devices);

} // namespace sotto::unity::vk
