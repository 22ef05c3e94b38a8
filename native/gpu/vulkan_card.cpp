#include "gpu/vulkan_card.hpp"

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "gpu/cuda_driver.hpp"
#include "platform/dynlib.hpp"

namespace sotto::gpu {
namespace {

#if defined(_WIN32)
constexpr const char* kLoader = "vulkan-1.dll";
#else
constexpr const char* kLoader = "libvulkan.so.1";
#endif

vk::GetFunction getter_of(const sotto_gpu_vulkan& shown) {
    if (shown.get_instance_proc_addr != nullptr) {
        return reinterpret_cast<vk::GetFunction>(shown.get_instance_proc_addr);
    }
    std::string reason;
    const auto get = vulkan_getter(reason);
    if (get == nullptr) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, reason + "; pass vulkan->get_instance_proc_addr");
    }
    return get;
}

[[noreturn]] void refuse(const std::string& reason) {
    throw Error(SOTTO_ERROR_ARGUMENT, reason);
}

void check(vk::Result result, const char* call) {
    if (result < vk::kSuccess) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, std::string(call) + " returned " + std::to_string(result));
    }
}

} // namespace

vk::GetFunction vulkan_getter(std::string& reason) {
    void* loader = open_library(kLoader, reason);
    if (loader == nullptr) {
        reason = "the Vulkan loader cannot be opened: " + reason;
        return nullptr;
    }
    const auto get = reinterpret_cast<vk::GetFunction>(find_symbol(loader, "vkGetInstanceProcAddr"));
    if (get == nullptr) {
        reason = std::string(kLoader) + " has no vkGetInstanceProcAddr";
    }
    return get;
}

VulkanCard::VulkanCard(const sotto_gpu_vulkan& shown) : shown_(shown), get_(nullptr) {
    if (shown_.instance == nullptr || shown_.physical_device == nullptr) {
        refuse(
            std::string("missing vulkan->") + (shown_.instance == nullptr ? "instance" : "physical_device") +
            ": expected a handle, not NULL"
        );
    }
    get_ = getter_of(shown_);
    const auto enumerate = required<vk::EnumeratePhysicalDevices>("vkEnumeratePhysicalDevices");
    std::uint32_t count = 0;
    check(enumerate(shown_.instance, &count, nullptr), "vkEnumeratePhysicalDevices");
    std::vector<void*> devices(count);
    check(enumerate(shown_.instance, &count, devices.data()), "vkEnumeratePhysicalDevices");
    devices.resize(std::min<std::size_t>(count, devices.size()));
    if (std::find(devices.begin(), devices.end(), shown_.physical_device) == devices.end()) {
        refuse("invalid vulkan->physical_device: expected a device of vulkan->instance");
    }
}

template <typename Function>
Function VulkanCard::required(const char* name) const {
    const auto function = get_(shown_.instance, name);
    if (function == nullptr) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, std::string("the Vulkan instance has no ") + name);
    }
    return reinterpret_cast<Function>(function);
}

vk::Function VulkanCard::device_function(const char* name) const {
    const auto get = required<vk::GetFunction>("vkGetDeviceProcAddr");
    return get(shown_.device, name);
}

void VulkanCard::check_queue() const {
    if (shown_.device == nullptr || shown_.queue == nullptr) {
        refuse(
            std::string("missing vulkan->") + (shown_.device == nullptr ? "device" : "queue") +
            ": expected a handle, not NULL"
        );
    }
    const auto list = required<vk::GetQueueFamilies>("vkGetPhysicalDeviceQueueFamilyProperties");
    std::uint32_t count = 0;
    list(shown_.physical_device, &count, nullptr);
    std::vector<vk::QueueFamilyProperties> families(count);
    list(shown_.physical_device, &count, families.data());
    if (shown_.queue_family >= count) {
        refuse(invalid(
            "vulkan->queue_family",
            std::to_string(shown_.queue_family),
            "less than " + std::to_string(count) + ", the number of families of the device"
        ));
    }
    const auto& family = families[shown_.queue_family];
    if ((family.flags & vk::kGraphicsQueue) == 0) {
        refuse(
            invalid("vulkan->queue_family", std::to_string(shown_.queue_family), "a family with graphics")
        );
    }
    if (shown_.queue_index >= family.count) {
        refuse(invalid(
            "vulkan->queue_index",
            std::to_string(shown_.queue_index),
            "less than " + std::to_string(family.count) + ", the number of queues of the family"
        ));
    }
    const auto get_queue = reinterpret_cast<vk::GetQueue>(device_function("vkGetDeviceQueue"));
    void* queue = nullptr;
    if (get_queue != nullptr) {
        get_queue(shown_.device, shown_.queue_family, shown_.queue_index, &queue);
    }
    if (queue != shown_.queue) {
        refuse(
            "invalid vulkan->queue: expected queue " + std::to_string(shown_.queue_index) + " of family " +
            std::to_string(shown_.queue_family) + " of vulkan->device"
        );
    }
}

std::string VulkanCard::uuid() const {
    auto get = get_(shown_.instance, "vkGetPhysicalDeviceProperties2");
    get = get != nullptr ? get : get_(shown_.instance, "vkGetPhysicalDeviceProperties2KHR");
    if (get == nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "the device cannot be identified: the Vulkan instance has no vkGetPhysicalDeviceProperties2; "
            "create the instance for Vulkan 1.1 or newer"
        );
    }
    vk::IdProperties id;
    vk::Properties2 properties;
    properties.next = &id;
    reinterpret_cast<vk::GetProperties2>(get)(shown_.physical_device, &properties);
    return uuid_text(id.device_uuid);
}

std::string VulkanCard::external_why() const {
    const auto list = required<vk::EnumerateExtensions>("vkEnumerateDeviceExtensionProperties");
    std::uint32_t count = 0;
    check(list(shown_.physical_device, nullptr, &count, nullptr), "vkEnumerateDeviceExtensionProperties");
    std::vector<vk::ExtensionProperties> extensions(count);
    check(
        list(shown_.physical_device, nullptr, &count, extensions.data()),
        "vkEnumerateDeviceExtensionProperties"
    );
    extensions.resize(std::min<std::size_t>(count, extensions.size()));
    const bool has = std::any_of(extensions.begin(), extensions.end(), [](const auto& one) {
        return std::string_view(one.name) == vk::kExternalComputeQueue;
    });
    return has ? ""
               : std::string("the Vulkan device has no ") + vk::kExternalComputeQueue +
                     "; it requires an NVIDIA device and driver 570 or newer";
}

vk::ExternalProperties VulkanCard::external_properties() const {
    const auto get = required<vk::GetProperties2>("vkGetPhysicalDeviceProperties2");
    vk::ExternalProperties external;
    vk::Properties2 properties;
    properties.next = &external;
    get(shown_.physical_device, &properties);
    return external;
}

ExternalQueue::ExternalQueue(const VulkanCard& card) : device_(card.shown().device) {
    if (const auto reason = card.external_why(); !reason.empty()) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, reason);
    }
    const auto find = [&](const char* name) {
        const auto function = card.device_function(name);
        if (function == nullptr) {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                std::string("invalid vulkan->device: expected a device with ") + name + "; enable " +
                    vk::kExternalComputeQueue + ", see sotto_gpu_vulkan_needs"
            );
        }
        return function;
    };
    const auto create = reinterpret_cast<vk::CreateExternalQueue>(find("vkCreateExternalComputeQueueNV"));
    const auto get_data = reinterpret_cast<vk::GetExternalData>(find("vkGetExternalComputeQueueDataNV"));
    destroy_ = reinterpret_cast<vk::DestroyExternalQueue>(find("vkDestroyExternalComputeQueueNV"));
    const auto size = card.external_properties().data_size;
    if (size == 0) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "the Vulkan driver reports no data of its queue to share");
    }
    data_.resize((size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
    vk::ExternalQueueInfo info;
    info.preferred_queue = card.shown().queue;
    check(create(device_, &info, nullptr, &queue_), "vkCreateExternalComputeQueueNV");
    if (queue_ == nullptr) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "vkCreateExternalComputeQueueNV created no queue");
    }
    vk::ExternalDataParams params;
    get_data(queue_, &params, data_.data());
}

ExternalQueue::~ExternalQueue() {
    destroy_(device_, queue_, nullptr);
}

} // namespace sotto::gpu
