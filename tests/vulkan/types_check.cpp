// Compiles only if the Vulkan types that Sotto declares have the layouts and values of the Vulkan headers.
#include <cstddef>

#include <vulkan/vulkan_core.h>

#include "gpu/vulkan_api.hpp"
#include "vulkan_types.hpp"

namespace {

namespace ours = sotto::gpu::vk;
namespace plugin = sotto::unity::vk;

#define SAME_SIZE(own, theirs) static_assert(sizeof(own) == sizeof(theirs) && alignof(own) == alignof(theirs))
#define SAME_MEMBER(own, member, theirs, their_member)                                                       \
    static_assert(                                                                                           \
        offsetof(own, member) == offsetof(theirs, their_member) &&                                           \
        sizeof(own::member) == sizeof(theirs::their_member)                                                  \
    )

static_assert(ours::kSuccess == VK_SUCCESS && ours::kIncomplete == VK_INCOMPLETE);
static_assert(ours::kGraphicsQueue == VK_QUEUE_GRAPHICS_BIT);
static_assert(ours::kProperties2 == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
static_assert(ours::kIdProperties == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);

SAME_SIZE(ours::Result, VkResult);
SAME_SIZE(ours::ExtensionProperties, VkExtensionProperties);
SAME_MEMBER(ours::ExtensionProperties, name, VkExtensionProperties, extensionName);
SAME_MEMBER(ours::ExtensionProperties, version, VkExtensionProperties, specVersion);
SAME_SIZE(ours::QueueFamilyProperties, VkQueueFamilyProperties);
SAME_MEMBER(ours::QueueFamilyProperties, flags, VkQueueFamilyProperties, queueFlags);
SAME_MEMBER(ours::QueueFamilyProperties, count, VkQueueFamilyProperties, queueCount);
SAME_SIZE(ours::Properties2, VkPhysicalDeviceProperties2);
SAME_MEMBER(ours::Properties2, next, VkPhysicalDeviceProperties2, pNext);
SAME_MEMBER(ours::Properties2, properties, VkPhysicalDeviceProperties2, properties);
SAME_SIZE(ours::IdProperties, VkPhysicalDeviceIDProperties);
SAME_MEMBER(ours::IdProperties, device_uuid, VkPhysicalDeviceIDProperties, deviceUUID);
SAME_MEMBER(ours::IdProperties, device_luid, VkPhysicalDeviceIDProperties, deviceLUID);
SAME_MEMBER(ours::IdProperties, node_mask, VkPhysicalDeviceIDProperties, deviceNodeMask);
SAME_MEMBER(ours::IdProperties, luid_valid, VkPhysicalDeviceIDProperties, deviceLUIDValid);

SAME_SIZE(plugin::Chained, VkBaseInStructure);
SAME_MEMBER(plugin::Chained, next, VkBaseInStructure, pNext);
SAME_SIZE(plugin::DeviceInfo, VkDeviceCreateInfo);
SAME_MEMBER(plugin::DeviceInfo, queue_count, VkDeviceCreateInfo, queueCreateInfoCount);
SAME_MEMBER(plugin::DeviceInfo, queues, VkDeviceCreateInfo, pQueueCreateInfos);
SAME_MEMBER(plugin::DeviceInfo, extension_count, VkDeviceCreateInfo, enabledExtensionCount);
SAME_MEMBER(plugin::DeviceInfo, extensions, VkDeviceCreateInfo, ppEnabledExtensionNames);
SAME_MEMBER(plugin::DeviceInfo, features, VkDeviceCreateInfo, pEnabledFeatures);

#if defined(VK_NV_external_compute_queue) // since 1.4.311
static_assert(ours::kExternalDeviceInfo == VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_DEVICE_CREATE_INFO_NV);
static_assert(ours::kExternalQueueInfo == VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_CREATE_INFO_NV);
static_assert(ours::kExternalDataParams == VK_STRUCTURE_TYPE_EXTERNAL_COMPUTE_QUEUE_DATA_PARAMS_NV);
static_assert(
    ours::kExternalProperties == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_COMPUTE_QUEUE_PROPERTIES_NV
);
SAME_SIZE(ours::ExternalProperties, VkPhysicalDeviceExternalComputeQueuePropertiesNV);
SAME_SIZE(ours::ExternalDeviceInfo, VkExternalComputeQueueDeviceCreateInfoNV);
SAME_SIZE(ours::ExternalQueueInfo, VkExternalComputeQueueCreateInfoNV);
SAME_SIZE(ours::ExternalDataParams, VkExternalComputeQueueDataParamsNV);
SAME_SIZE(plugin::ExternalDeviceInfo, VkExternalComputeQueueDeviceCreateInfoNV);
#endif

} // namespace
