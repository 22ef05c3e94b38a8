// Double of Unreal: a renderer whose Vulkan device is real.
#include <cstdint>
#include <cstring>

#include <dlfcn.h>

#include "IVulkanDynamicRHI.h"
#include "drive.h"

FDynamicRHI* GDynamicRHI = nullptr;

namespace {

// As in vulkan.h, which this machine may lack.
struct VkApplicationInfo {
    int32_t sType;
    const void* pNext;
    const char* application;
    uint32_t application_version;
    const char* engine;
    uint32_t engine_version;
    uint32_t api_version;
};
struct VkInstanceCreateInfo {
    int32_t sType;
    const void* pNext;
    uint32_t flags;
    const VkApplicationInfo* application;
    uint32_t layer_count;
    const char* const* layers;
    uint32_t extension_count;
    const char* const* extensions;
};
struct VkDeviceQueueCreateInfo {
    int32_t sType;
    const void* pNext;
    uint32_t flags;
    uint32_t family;
    uint32_t count;
    const float* priorities;
};
struct VkDeviceCreateInfo {
    int32_t sType;
    const void* pNext;
    uint32_t flags;
    uint32_t queue_count;
    const VkDeviceQueueCreateInfo* queues;
    uint32_t layer_count;
    const char* const* layers;
    uint32_t extension_count;
    const char* const* extensions;
    const void* features;
};
struct VkExtensionProperties {
    char name[256];
    uint32_t version;
};

struct Asked {
    std::vector<std::string> extensions;
    bool late = false;
};

Asked& asked() {
    static Asked& all = *new Asked;
    return all;
}

class Loader {
public:
    Loader() : library_(dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL)) {}
    explicit operator bool() const { return library_ != nullptr; }

    template <typename... Params>
    int32_t call(const char* name, Params... params) const {
        return reinterpret_cast<int32_t (*)(Params...)>(dlsym(library_, name))(params...);
    }

private:
    void* library_;
};

class Vulkan final : public IVulkanDynamicRHI {
public:
    Vulkan() : loader_() {}
    ~Vulkan() override {
        if (device_ != nullptr) {
            loader_.call<VkDevice, const void*>("vkDestroyDevice", device_, nullptr);
        }
        if (instance_ != nullptr) {
            loader_.call<VkInstance, const void*>("vkDestroyInstance", instance_, nullptr);
        }
    }

    bool start() {
        if (!loader_) {
            return false;
        }
        const VkApplicationInfo application = {0, nullptr, nullptr, 0, nullptr, 0, 1U << 22 | 3U << 12};
        const VkInstanceCreateInfo made = {1, nullptr, 0, &application, 0, nullptr, 0, nullptr};
        if (loader_.call<const void*, const void*, VkInstance*>(
                "vkCreateInstance", &made, nullptr, &instance_
            ) < 0) {
            return false;
        }
        uint32_t count = 1;
        loader_.call<VkInstance, uint32_t*, VkPhysicalDevice*>(
            "vkEnumeratePhysicalDevices", instance_, &count, &card_
        );
        return count != 0 && make_device();
    }

    const TCHAR* GetName() override { return TEXT("Vulkan"); }
    VkInstance RHIGetVkInstance() const override { return instance_; }
    VkDevice RHIGetVkDevice() const override { return device_; }
    VkPhysicalDevice RHIGetVkPhysicalDevice() const override { return card_; }
    VkQueue RHIGetGraphicsVkQueue() const override { return queue_; }
    uint32 RHIGetGraphicsQueueIndex() const override { return 0; }
    uint32 RHIGetGraphicsQueueFamilyIndex() const override { return 0; }

private:
    bool supported(const std::string& extension) const {
        uint32_t count = 0;
        const char* name = "vkEnumerateDeviceExtensionProperties";
        loader_.call<VkPhysicalDevice, const char*, uint32_t*, void*>(name, card_, nullptr, &count, nullptr);
        std::vector<VkExtensionProperties> all(count);
        loader_.call<VkPhysicalDevice, const char*, uint32_t*, void*>(
            name, card_, nullptr, &count, all.data()
        );
        for (const VkExtensionProperties& one : all) {
            if (extension == one.name) {
                return true;
            }
        }
        return false;
    }

    bool make_device() {
        std::vector<const char*> enabled; // as the engine, leaves out what the driver lacks
        for (const std::string& extension : asked().extensions) {
            if (supported(extension)) {
                enabled.push_back(extension.c_str());
            }
        }
        const float priority = 1;
        const VkDeviceQueueCreateInfo queue = {2, nullptr, 0, 0, 1, &priority};
        const auto number = static_cast<uint32_t>(enabled.size());
        const VkDeviceCreateInfo made = {
            3, nullptr, 0, 1, &queue, 0, nullptr, number, enabled.data(), nullptr
        };
        if (loader_.call<VkPhysicalDevice, const void*, const void*, VkDevice*>(
                "vkCreateDevice", card_, &made, nullptr, &device_
            ) < 0) {
            return false;
        }
        loader_.call<VkDevice, uint32_t, uint32_t, VkQueue*>("vkGetDeviceQueue", device_, 0, 0, &queue_);
        return true;
    }

    Loader loader_;
    VkInstance instance_ = nullptr;
    VkPhysicalDevice card_ = nullptr;
    VkDevice device_ = nullptr;
    VkQueue queue_ = nullptr;
};

class Null final : public FDynamicRHI {
public:
    const TCHAR* GetName() override { return TEXT("Null"); }
    ERHIInterfaceType GetInterfaceType() const override { return ERHIInterfaceType::Null; }
};

} // namespace

void IVulkanDynamicRHI::AddEnabledDeviceExtensionsAndLayers(
    TArrayView<const ANSICHAR* const> InDeviceExtensions, TArrayView<const ANSICHAR* const>
) {
    asked().late = asked().late || GDynamicRHI != nullptr;
    for (const ANSICHAR* Extension : InDeviceExtensions) {
        asked().extensions.emplace_back(Extension);
    }
}

bool DoubleRhi::start_vulkan() {
    Vulkan* made = new Vulkan;
    if (!made->start()) {
        delete made;
        return false;
    }
    GDynamicRHI = made;
    return true;
}

void DoubleRhi::start_null() {
    GDynamicRHI = new Null;
}

void DoubleRhi::stop() {
    delete GDynamicRHI;
    GDynamicRHI = nullptr;
}

const std::vector<std::string>& DoubleRhi::extensions() {
    return asked().extensions;
}

bool DoubleRhi::asked_late() {
    return asked().late;
}
