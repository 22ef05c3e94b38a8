#include "nvidia_double.hpp"

#include <algorithm>
#include <cstring>

#include "vulkan_renderer.hpp"

namespace test {
namespace {

// Structs of the extension, which headers of 2025 lack; their layout is a fact of its specification.
constexpr std::int32_t kDeviceInfo = 1000556000;
constexpr std::int32_t kQueueInfo = 1000556001;
constexpr std::int32_t kDataParams = 1000556002;
constexpr std::int32_t kProperties = 1000556003;
constexpr std::uint32_t kDataSize = 100;

struct Chained {
    std::int32_t type;
    const Chained* next;
};
struct DeviceInfo : Chained {
    std::uint32_t reserved_queues;
};
struct QueueInfo : Chained {
    void* preferred;
};
struct ExternalProperties : Chained {
    std::uint32_t data_size;
    std::uint32_t max_queues;
};

struct Real { // of this machine's driver
    GetProc get = nullptr;
    PFN_vkCreateDevice create_device = nullptr;
    PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
    PFN_vkGetPhysicalDeviceProperties2 properties = nullptr;
    PFN_vkGetDeviceProcAddr device_function = nullptr;
} real;

template <typename Function>
VoidFunction plain(Function* function) {
    return reinterpret_cast<VoidFunction>(function);
}

VkResult VKAPI_CALL enumerate_nothing(VkInstance, std::uint32_t*, VkPhysicalDevice*) {
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VkResult VKAPI_CALL enumerate_extensions(
    VkPhysicalDevice device, const char* layer, std::uint32_t* count, VkExtensionProperties* out
) {
    const std::uint32_t room = *count;
    const VkResult result = real.extensions(device, layer, count, out);
    if (out == nullptr) {
        ++*count;
    } else if (*count < room) {
        out[*count] = {};
        std::strcpy(out[(*count)++].extensionName, kExternalComputeQueue);
    }
    return result;
}

VkResult VKAPI_CALL create_device(
    VkPhysicalDevice physical,
    const VkDeviceCreateInfo* info,
    const VkAllocationCallbacks* allocator,
    VkDevice* device
) {
    auto& nvidia = Nvidia::it();
    std::vector<const char*> known;
    bool enabled = false;
    nvidia.extensions.clear();
    for (std::uint32_t i = 0; i < info->enabledExtensionCount; ++i) {
        nvidia.extensions.emplace_back(info->ppEnabledExtensionNames[i]);
        if (nvidia.extensions.back() == kExternalComputeQueue) {
            nvidia.misuses += enabled; // twice
            enabled = true;
        } else {
            known.push_back(info->ppEnabledExtensionNames[i]);
        }
    }
    if (enabled && nvidia.refuses) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    VkDeviceCreateInfo passed = *info;
    nvidia.reserved_queues = 0;
    nvidia.keeps_features = false;
    for (const auto* one = static_cast<const Chained*>(info->pNext); one != nullptr; one = one->next) {
        if (one->type == kDeviceInfo) {
            nvidia.misuses += !enabled || nvidia.reserved_queues != 0;
            nvidia.reserved_queues = static_cast<const DeviceInfo*>(one)->reserved_queues;
            nvidia.misuses += passed.pNext != one; // else it could not be taken away again
            passed.pNext = one->next;
        }
        nvidia.keeps_features |= one->type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    }
    passed.enabledExtensionCount = static_cast<std::uint32_t>(known.size());
    passed.ppEnabledExtensionNames = known.data();
    ++nvidia.devices;
    return real.create_device(physical, &passed, allocator, device);
}

void VKAPI_CALL get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties2* out) {
    real.properties(device, out);
    for (auto* one = static_cast<Chained*>(out->pNext); one != nullptr;
         one = const_cast<Chained*>(one->next)) {
        if (one->type == kProperties) {
            static_cast<ExternalProperties*>(one)->data_size = kDataSize;
        } else if (one->type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES) {
            auto& id = *reinterpret_cast<VkPhysicalDeviceIDProperties*>(one);
            for (int i = 0; i < static_cast<int>(VK_UUID_SIZE); ++i) {
                id.deviceUUID[i] = static_cast<std::uint8_t>(0x10 * Nvidia::it().card + i);
            }
        }
    }
}

VkResult VKAPI_CALL create_queue(VkDevice, const QueueInfo* info, const void*, void** queue) {
    auto& nvidia = Nvidia::it();
    if (info->type != kQueueInfo || nvidia.reserved_queues <= static_cast<std::uint32_t>(nvidia.lent)) {
        ++nvidia.misuses;
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    nvidia.preferred = info->preferred;
    ++nvidia.lent;
    *queue = &nvidia;
    return VK_SUCCESS;
}

void VKAPI_CALL get_data(void* queue, const Chained* params, void* data) {
    Nvidia::it().misuses += queue != &Nvidia::it() || params->type != kDataParams;
    std::memset(data, 0, kDataSize);
    std::memcpy(data, "blob", 4); // what the double of the CUDA driver takes for a queue
}

void VKAPI_CALL destroy_queue(VkDevice, void* queue, const void*) {
    Nvidia::it().misuses += queue != &Nvidia::it() || Nvidia::it().lent == 0;
    --Nvidia::it().lent;
}

VoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    const std::string asked = name;
    if (Nvidia::it().reserved_queues > 0) {
        if (asked == "vkCreateExternalComputeQueueNV") {
            return plain(&create_queue);
        }
        if (asked == "vkGetExternalComputeQueueDataNV") {
            return plain(&get_data);
        }
        if (asked == "vkDestroyExternalComputeQueueNV") {
            return plain(&destroy_queue);
        }
    }
    return reinterpret_cast<VoidFunction>(real.device_function(device, name));
}

template <typename Function>
VoidFunction stand_in(void* instance, const char* name, Function& kept, VoidFunction ours) {
    const VoidFunction found = real.get(instance, name);
    kept = reinterpret_cast<Function>(found);
    return found != nullptr ? ours : nullptr;
}

VoidFunction get(void* instance, const char* name) {
    const std::string asked = name;
    if (asked == "vkCreateDevice") {
        return stand_in(instance, name, real.create_device, plain(&create_device));
    }
    if (asked == "vkEnumeratePhysicalDevices" && Nvidia::it().hides) {
        return plain(&enumerate_nothing);
    }
    if (asked == "vkEnumerateDeviceExtensionProperties") {
        return stand_in(instance, name, real.extensions, plain(&enumerate_extensions));
    }
    if (asked == "vkGetPhysicalDeviceProperties2") {
        return stand_in(instance, name, real.properties, plain(&get_properties));
    }
    if (asked == "vkGetDeviceProcAddr") {
        return stand_in(instance, name, real.device_function, plain(&device_function));
    }
    return real.get(instance, name);
}

} // namespace

Nvidia& Nvidia::it() {
    static Nvidia nvidia;
    return nvidia;
}

Nvidia& Nvidia::fresh() {
    return it() = {};
}

GetProc Nvidia::loader() {
    real.get = system_loader();
    return &get;
}

} // namespace test
