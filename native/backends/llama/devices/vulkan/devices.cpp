// Lists the devices of the Vulkan module.
#include "devices/device.hpp"
#include "devices/vulkan/loader.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

// A temporary Vulkan instance, which lists the devices.
class Instance {
public:
    explicit Instance(PFN_vkGetInstanceProcAddr get) : get_(get) {
        const auto version = function<PFN_vkEnumerateInstanceVersion>("vkEnumerateInstanceVersion");
        std::uint32_t offered = VK_API_VERSION_1_0;
        if (version == nullptr || version(&offered) != VK_SUCCESS || offered < VK_API_VERSION_1_2) {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED, "the Vulkan loader is older than Vulkan 1.2; install a newer driver"
            );
        }
        VkApplicationInfo application{};
        application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        application.apiVersion = VK_API_VERSION_1_2;
        VkInstanceCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        wanted.pApplicationInfo = &application;
        const auto create = function<PFN_vkCreateInstance>("vkCreateInstance");
        if (const auto result = create(&wanted, nullptr, &instance_); result != VK_SUCCESS) {
            const bool none = result == VK_ERROR_INCOMPATIBLE_DRIVER;
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                none ? "no Vulkan driver was found"
                     : "vkCreateInstance ended with VkResult " + std::to_string(result)
            );
        }
    }
    ~Instance() { function<PFN_vkDestroyInstance>("vkDestroyInstance")(instance_, nullptr); }
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    template <typename Function>
    Function function(const char* name) const {
        return reinterpret_cast<Function>(get_(instance_, name));
    }

    std::vector<VkPhysicalDevice> devices() const {
        const auto list = function<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices");
        std::uint32_t count = 0;
        list(instance_, &count, nullptr);
        std::vector<VkPhysicalDevice> devices(count);
        list(instance_, &count, devices.data());
        devices.resize(count);
        return devices;
    }

private:
    PFN_vkGetInstanceProcAddr get_;
    VkInstance instance_ = VK_NULL_HANDLE;
};

const char* name_of(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return "cpu";
    default:
        return "other";
    }
}

Device describe(const Instance& instance, VkPhysicalDevice handle) {
    VkPhysicalDeviceIDProperties id{};
    id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &id;
    instance.function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
        handle, &properties
    );
    VkPhysicalDeviceMemoryProperties memory{};
    instance.function<PFN_vkGetPhysicalDeviceMemoryProperties>("vkGetPhysicalDeviceMemoryProperties")(
        handle, &memory
    );
    Device device;
    device.name = properties.properties.deviceName;
    device.type = name_of(properties.properties.deviceType);
    device.uuid = uuid_text(id.deviceUUID);
    for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
        const auto& heap = memory.memoryHeaps[i];
        device.memory += (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 ? heap.size : 0;
    }
    return device;
}

} // namespace

const char* const kDeviceKind = "vulkan";
const sotto_backend_uses kDeviceUses = 0;

std::vector<Device> find_devices() {
    const Instance instance(vulkan_loader());
    std::vector<Device> devices;
    std::string numbers;
    for (const auto handle : instance.devices()) {
        numbers += (devices.empty() ? "" : ",") + std::to_string(devices.size());
        devices.push_back(describe(instance, handle));
    }
    if (devices.empty()) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "the Vulkan driver reports no device");
    }
    show_ggml(std::move(numbers));
    return devices;
}

const Device* current_device(const std::vector<Device>&) {
    return nullptr; // Vulkan has no current device
}

void keep_current(void (*body)()) {
    body();
}

// ggml keeps its devices until the process ends, so a lost device stays lost. Returns one loss state for all
// models.
Loss loss_of(const Device&) {
    static const auto& fate = *new auto(std::make_shared<Fate>());
    return Loss(fate);
}

} // namespace sotto::llama
