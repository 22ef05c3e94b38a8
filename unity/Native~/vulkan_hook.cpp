#include "vulkan_hook.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "immortal.hpp"
#include "system_library.hpp"

namespace sotto::unity {
namespace {

constexpr std::uint32_t kMaxExtensions = 512;
constexpr std::uint32_t kMaxDevices = 32;

bool is_chained(const void* chain, std::int32_t type) {
    const auto* one = static_cast<const vk::Chained*>(chain);
    while (one != nullptr && one->type != type) {
        one = static_cast<const vk::Chained*>(one->next);
    }
    return one != nullptr;
}

bool is_device_of(GetVulkanFunction get, void* instance, void* physical_device) {
    const auto enumerate =
        reinterpret_cast<vk::EnumeratePhysicalDevices>(get(instance, "vkEnumeratePhysicalDevices"));
    void* devices[kMaxDevices] = {};
    std::uint32_t count = kMaxDevices;
    if (enumerate == nullptr || enumerate(instance, &count, devices) < 0) {
        return false;
    }
    void** const end = devices + std::min(count, kMaxDevices);
    return std::find(devices, end, physical_device) != end;
}

bool has_extension(const vk::DeviceInfo& info, const char* name) {
    const auto same = [name](const char* one) { return std::strcmp(one, name) == 0; };
    return std::any_of(info.extensions, info.extensions + info.extension_count, same);
}

} // namespace

// Unity's VkDeviceCreateInfo with more in it. Points into the original and into itself.
struct VulkanHook::Addition {
    explicit Addition(const vk::DeviceInfo& original) : info(original) {}
    Addition(const Addition&) = delete;
    Addition& operator=(const Addition&) = delete;

    // Returns false, with `reason`, if the needs can't be added.
    bool append(const sotto_gpu_vulkan_needs& needs, Text& reason) {
        const auto* asked = static_cast<const vk::ExternalDeviceInfo*>(needs.next);
        if (asked != nullptr && (asked->type != vk::kExternalDeviceInfo || asked->next != nullptr)) {
            reason.format("the Sotto library asks for a Vulkan struct that sotto_unity does not know");
            return false;
        }
        if (info.extension_count + needs.extension_count > kMaxExtensions) {
            reason.format("Unity enables %u Vulkan extensions, too many to add one", info.extension_count);
            return false;
        }
        std::copy_n(info.extensions, info.extension_count, extensions);
        info.extensions = extensions;
        for (std::uint32_t i = 0; i < needs.extension_count; ++i) {
            if (!has_extension(info, needs.extensions[i])) {
                extensions[info.extension_count++] = needs.extensions[i];
            }
        }
        if (asked != nullptr && !is_chained(info.next, asked->type)) {
            external = *asked; // the library's is constant; the order within a chain does not matter
            external.next = info.next;
            info.next = &external;
        }
        return true;
    }

    vk::DeviceInfo info;
    vk::ExternalDeviceInfo external{};
    const char* extensions[kMaxExtensions] = {};
};

VulkanHook& VulkanHook::it() {
    return immortal<VulkanHook>();
}

void VulkanHook::install(const VulkanV2* vulkan) {
    {
        const std::lock_guard lock(mutex_);
        installed_ = vulkan;
    }
    if (vulkan != nullptr) {
        keep_plugin_loaded();
        // Priority 0: other plugins may stand on either side. The highest one would replace their hooks, as
        // would InterceptInitialization(), the only one that IUnityGraphicsVulkan has.
        vulkan->add_intercept(&begin, nullptr, 0);
    }
}

void VulkanHook::remove() {
    const VulkanV2* vulkan = nullptr;
    {
        const std::lock_guard lock(mutex_);
        vulkan = std::exchange(installed_, nullptr);
    }
    forget_device();
    if (vulkan != nullptr) {
        vulkan->remove_intercept(&begin);
    }
}

bool VulkanHook::has_prepared(void* device, Text& reason) {
    const std::lock_guard lock(mutex_);
    if (device == device_) {
        reason = reason_;
    } else if (installed_ == nullptr) {
        reason.format("this Unity has no IUnityGraphicsVulkanV2, which a plugin needs to extend the device");
    } else {
        reason.format(
            "Unity created its Vulkan device before it loaded sotto_unity; enable 'Load on startup' in the "
            "plugin's import settings"
        );
    }
    return reason.empty();
}

void VulkanHook::forget_device() {
    note_device(nullptr, {});
}

GetVulkanFunction SOTTO_UNITY_CALL VulkanHook::begin(GetVulkanFunction next, void*) {
    auto& hook = it();
    if (next != nullptr) {
        const std::lock_guard lock(hook.mutex_);
        hook.next_ = next;
    }
    return next != nullptr ? &look_up : nullptr;
}

GetVulkanFunction VulkanHook::next() {
    const std::lock_guard lock(mutex_);
    return next_;
}

// vkGetInstanceProcAddr for Unity, and for hooks of other plugins in front of this one.
VulkanFunction VulkanHook::look_up(void* instance, const char* name) {
    auto& hook = it();
    const VulkanFunction found = hook.next()(instance, name);
    return found != nullptr ? hook.replace(instance, name, found) : nullptr;
}

VulkanFunction VulkanHook::replace(void* instance, const char* name, VulkanFunction found) {
    if (std::strcmp(name, "vkGetInstanceProcAddr") == 0) {
        return reinterpret_cast<VulkanFunction>(&look_up);
    }
    const bool creates = std::strcmp(name, "vkCreateDevice") == 0;
    if (instance == nullptr || (!creates && std::strcmp(name, "vkDestroyInstance") != 0)) {
        return found;
    }
    const std::lock_guard lock(mutex_);
    const auto place_of = [this](void* handle) {
        const auto same = [handle](const Instance& one) { return one.handle == handle; };
        return std::find_if(instances_.begin(), instances_.end(), same);
    };
    auto at = place_of(instance);
    at = at != instances_.end() ? at : place_of(nullptr);
    if (at == instances_.end()) {
        return found; // too many instances: leaves this one alone
    }
    at->handle = instance;
    if (creates) {
        at->create_device = reinterpret_cast<vk::CreateDevice>(found);
        newest_ = *at;
        return reinterpret_cast<VulkanFunction>(&create_device);
    }
    at->destroy = reinterpret_cast<vk::DestroyInstance>(found);
    return reinterpret_cast<VulkanFunction>(&destroy_instance);
}

// vkCreateDevice() does not say which of the living instances it is called for. If none can be found, the
// result has a create_device, but no handle.
VulkanHook::Instance VulkanHook::instance_of(void* physical_device) {
    std::array<Instance, kMaxInstances> instances;
    Instance newest;
    GetVulkanFunction get = nullptr;
    {
        const std::lock_guard lock(mutex_);
        instances = instances_;
        newest = newest_;
        get = next_;
    }
    const auto owns = [&](const Instance& one) {
        return one.handle != nullptr && one.create_device != nullptr &&
               is_device_of(get, one.handle, physical_device);
    };
    if (owns(newest)) { // as always in Unity; the others are not touched
        return newest;
    }
    const auto found = std::find_if(instances.begin(), instances.end(), owns);
    newest.handle = nullptr;
    return found != instances.end() ? *found : newest;
}

vk::Result SOTTO_UNITY_VULKAN_CALL VulkanHook::create_device(
    void* physical_device, const vk::DeviceInfo* info, const void* allocator, void** device
) {
    auto& hook = it();
    const Instance instance = hook.instance_of(physical_device);
    Text reason;
    Addition addition(*info);
    if (hook.add_needs(instance, physical_device, addition, reason)) {
        const vk::Result result = instance.create_device(physical_device, &addition.info, allocator, device);
        if (result >= 0) {
            hook.note_device(*device, {});
            return result;
        }
        reason.format("vkCreateDevice() with the extension of CiG returned %d", static_cast<int>(result));
    }
    const vk::Result result = instance.create_device(physical_device, info, allocator, device);
    if (result >= 0) {
        hook.note_device(*device, reason);
    }
    return result;
}

void SOTTO_UNITY_VULKAN_CALL VulkanHook::destroy_instance(void* instance, const void* allocator) {
    auto& hook = it();
    vk::DestroyInstance destroy = nullptr;
    if (instance != nullptr) {
        const std::lock_guard lock(hook.mutex_);
        for (auto& one : hook.instances_) {
            if (one.handle == instance) {
                destroy = std::exchange(one, {}).destroy;
            }
        }
        if (hook.newest_.handle == instance) {
            hook.newest_.handle = nullptr;
        }
    }
    if (destroy != nullptr) {
        destroy(instance, allocator);
    }
}

// Returns false, with `reason`, if the device can't be extended.
bool VulkanHook::add_needs(
    const Instance& instance, void* physical_device, Addition& addition, Text& reason
) {
    if (instance.handle == nullptr) {
        reason.format("the Vulkan device belongs to no instance that sotto_unity knows");
        return false;
    }
    auto vulkan = SOTTO_INIT(sotto_gpu_vulkan);
    vulkan.instance = instance.handle;
    vulkan.physical_device = physical_device;
    {
        const std::lock_guard lock(mutex_);
        if (installed_ == nullptr) {
            reason.format("Unity unloaded sotto_unity before it created this Vulkan device");
            return false;
        }
        vulkan.get_instance_proc_addr = reinterpret_cast<sotto_vulkan_proc_fn>(next_);
    }
    const SottoLibrary* library = SottoLibrary::find(reason);
    if (library == nullptr) {
        return false;
    }
    auto needs = SOTTO_INIT(sotto_gpu_vulkan_needs);
    if (library->query_vulkan(&vulkan, &needs) < 0) {
        reason.copy(library->last_error());
        return false;
    }
    reason.copy(needs.reason);
    return needs.extension_count > 0 && addition.append(needs, reason);
}

void VulkanHook::note_device(void* device, const Text& reason) {
    const std::lock_guard lock(mutex_);
    device_ = device;
    reason_ = reason;
}

} // namespace sotto::unity
