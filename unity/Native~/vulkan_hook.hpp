// Adds to Unity's VkDevice what CUDA needs to share its queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "sotto_library.hpp"
#include "text.hpp"
#include "unity_interfaces.hpp"
#include "vulkan_types.hpp"

namespace sotto::unity {

// Stands between Unity and the Vulkan loader: see install(). One per process.
class VulkanHook {
public:
    static VulkanHook& it();

    // Asks Unity to look up its Vulkan functions through the hook. Without effect on a device that exists.
    void install(const VulkanV2* vulkan);
    // Undoes install(). Unity may still call functions that it looked up, and look up more until it
    // initializes Vulkan again; the hook passes all of them on.
    void remove();

    // Returns whether `device` was created with all that CiG needs; if not, `reason` says why.
    bool has_prepared(void* device, Text& reason);
    // Called before Unity destroys its device: another one may get the same address.
    void forget_device();

private:
    struct Instance {
        void* handle = nullptr;
        vk::CreateDevice create_device = nullptr;
        vk::DestroyInstance destroy = nullptr;
    };
    struct Addition;
    static constexpr std::size_t kMaxInstances = 8;

    static GetVulkanFunction SOTTO_UNITY_CALL begin(GetVulkanFunction next, void* user);
    static VulkanFunction look_up(void* instance, const char* name);
    static vk::Result SOTTO_UNITY_VULKAN_CALL
    create_device(void* physical_device, const vk::DeviceInfo* info, const void* allocator, void** device);
    static void SOTTO_UNITY_VULKAN_CALL destroy_instance(void* instance, const void* allocator);

    GetVulkanFunction next();
    VulkanFunction replace(void* instance, const char* name, VulkanFunction found);
    Instance instance_of(void* physical_device);
    bool add_needs(const Instance& instance, void* physical_device, Addition& addition, Text& reason);
    void note_device(void* device, const Text& reason);

    std::mutex mutex_; // guards the rest; held for moments
    const VulkanV2* installed_ = nullptr;
    GetVulkanFunction next_ = nullptr;              // the loader's, or that of another plugin's hook
    std::array<Instance, kMaxInstances> instances_; // those that are alive
    Instance newest_;                               // its handle is NULL once it is destroyed
    void* device_ = nullptr;                        // the newest one
    Text reason_;                                   // why device_ is not prepared; empty: it is
};

} // namespace sotto::unity
