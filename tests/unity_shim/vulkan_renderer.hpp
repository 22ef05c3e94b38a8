// A renderer as Unity has one: a real Vulkan instance and device, created through the plugins' hooks.
#pragma once

#include <cstdint>
#include <vector>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "unity_double.hpp"

namespace test {

// vkGetInstanceProcAddr of the system's Vulkan loader.
GetProc system_loader();

// An instance and, once create_device() is called, a device. Destroys both.
class Renderer {
public:
    explicit Renderer(GetProc get);
    ~Renderer();
    Renderer(const Renderer&) = delete;
    Renderer& operator=(const Renderer&) = delete;

    // With `extensions`, and with timeline semaphores as a feature in the `pNext` chain.
    void create_device(std::vector<const char*> extensions = {});
    void destroy_device();
    // What Unity hands out; vkGetInstanceProcAddr is the loader's own.
    VulkanInstance shown(GetProc loader) const;

    template <typename Function>
    Function look_up(const char* name) const {
        return reinterpret_cast<Function>(get_(instance, name));
    }

    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    std::uint32_t family = 0;

private:
    const GetProc get_;
};

// Unity drawing with Vulkan, from its start until it shuts down.
class VulkanUnity {
public:
    // `loader`: what Unity takes for the Vulkan loader.
    explicit VulkanUnity(GetProc loader = system_loader(), std::vector<const char*> extensions = {});
    ~VulkanUnity();

    // Tells plugins, destroys the device, creates another one, and tells plugins. Returns the time, in ms.
    double restart_device();
    // The same, as a reset.
    void reset_device();

    Renderer renderer;
    const std::vector<const char*> extensions;

private:
    void show();

    const GetProc loader_;
};

} // namespace test
