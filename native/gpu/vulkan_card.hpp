// Checks of a host's Vulkan renderer, the GPU it draws on, and its queue for external compute.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sotto/gpu.h>

#include "gpu/vulkan_api.hpp"

namespace sotto::gpu {

// Returns the system's vkGetInstanceProcAddr, or null and the reason in `why`. The Vulkan loader stays open.
vk::GetFunction vulkan_getter(std::string& why);

// Queries a host's Vulkan renderer: its GPU, and its device once the host has created one.
class VulkanCard {
public:
    // Reads only `instance`, `physical_device` and the getter of `shown`. Throws Error(SOTTO_ERROR_ARGUMENT)
    // for handles that do not belong together, and Error(SOTTO_ERROR_UNSUPPORTED) without Vulkan.
    explicit VulkanCard(const sotto_gpu_vulkan& shown);

    // Throws Error(SOTTO_ERROR_ARGUMENT) if `queue` does not belong to the device or is not a graphics queue.
    void check_queue() const;

    // The GPU's UUID in the CUDA driver's format. Throws Error(SOTTO_ERROR_UNSUPPORTED) if Vulkan is too old.
    std::string uuid() const;
    // Reason why the GPU does not support external compute queues; empty: the GPU supports them.
    std::string external_why() const;

    const sotto_gpu_vulkan& shown() const noexcept { return shown_; }
    // Returns a device-level function, or null.
    vk::Function device_function(const char* name) const;
    vk::ExternalProperties external_properties() const;

private:
    template <typename Function>
    Function required(const char* name) const;

    const sotto_gpu_vulkan shown_;
    vk::GetFunction get_;
};

// A queue of the renderer's device for use by CUDA; destroyed with this object.
class ExternalQueue {
public:
    // Creates the queue. Throws Error(SOTTO_ERROR_UNSUPPORTED) on failure, and then leaves nothing behind.
    explicit ExternalQueue(const VulkanCard& card);
    ~ExternalQueue();
    ExternalQueue(const ExternalQueue&) = delete;
    ExternalQueue& operator=(const ExternalQueue&) = delete;

    // The data from which a CiG context is created.
    void* data() noexcept { return data_.data(); }

private:
    void* const device_;
    void* queue_ = nullptr;
    vk::DestroyExternalQueue destroy_ = nullptr;
    std::vector<std::max_align_t> data_;
};

} // namespace sotto::gpu
