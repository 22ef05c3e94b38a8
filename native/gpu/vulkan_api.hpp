// Types and constants of Vulkan that Sotto uses, declared here so that building needs no Vulkan
// headers. tests/vulkan/types_check.cpp compares them with the headers.
#pragma once

#include <cstdint>

namespace sotto::gpu::vk {

using Result = std::int32_t;
using Function = void (*)();
using GetFunction = Function (*)(void* object, const char* name);

constexpr Result kSuccess = 0;
constexpr Result kIncomplete = 5;
constexpr std::uint32_t kGraphicsQueue = 1;
constexpr const char* kExternalComputeQueue = "VK_NV_external_compute_queue";

// Values of sType for the structs below.
constexpr std::int32_t kProperties2 = 1000059001;
constexpr std::int32_t kIdProperties = 1000071004;
constexpr std::int32_t kExternalDeviceInfo = 1000556000;
constexpr std::int32_t kExternalQueueInfo = 1000556001;
constexpr std::int32_t kExternalDataParams = 1000556002;
constexpr std::int32_t kExternalProperties = 1000556003;

struct ExtensionProperties {
    char name[256];
    std::uint32_t version;
};

struct QueueFamilyProperties {
    std::uint32_t flags;
    std::uint32_t count;
    std::uint32_t timestamp_bits;
    std::uint32_t granularity[3];
};

struct Properties2 {
    std::int32_t type = kProperties2;
    void* next = nullptr;
    alignas(8) unsigned char properties[824] = {}; // VkPhysicalDeviceProperties, which Sotto does not read
};

struct IdProperties {
    std::int32_t type = kIdProperties;
    void* next = nullptr;
    unsigned char device_uuid[16] = {};
    unsigned char driver_uuid[16] = {};
    unsigned char device_luid[8] = {};
    std::uint32_t node_mask = 0;
    std::uint32_t luid_valid = 0;
};

struct ExternalProperties {
    std::int32_t type = kExternalProperties;
    void* next = nullptr;
    std::uint32_t data_size = 0;
    std::uint32_t most_queues = 0;
};

struct ExternalDeviceInfo {
    std::int32_t type = kExternalDeviceInfo;
    const void* next = nullptr;
    std::uint32_t reserved_queues = 1;
};

struct ExternalQueueInfo {
    std::int32_t type = kExternalQueueInfo;
    const void* next = nullptr;
    void* preferred_queue = nullptr;
};

struct ExternalDataParams {
    std::int32_t type = kExternalDataParams;
    const void* next = nullptr;
    std::uint32_t device_index = 0;
};

using EnumeratePhysicalDevices = Result (*)(void* instance, std::uint32_t* count, void** devices);
using EnumerateExtensions = Result (*)(
    void* physical_device, const char* layer, std::uint32_t* count, ExtensionProperties* extensions
);
using GetProperties2 = void (*)(void* physical_device, Properties2* properties);
using GetQueueFamilies =
    void (*)(void* physical_device, std::uint32_t* count, QueueFamilyProperties* families);
using GetQueue = void (*)(void* device, std::uint32_t family, std::uint32_t index, void** queue);
using CreateExternalQueue =
    Result (*)(void* device, const ExternalQueueInfo* info, const void* allocator, void** queue);
using DestroyExternalQueue = void (*)(void* device, void* queue, const void* allocator);
using GetExternalData = void (*)(void* queue, ExternalDataParams* params, void* data);

} // namespace sotto::gpu::vk
