// A renderer on Vulkan: whether it is what it says, which card it draws on, and its queue for others.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sotto/gpu.h>

#include "gpu/vulkan_api.hpp"

namespace sotto::gpu {

// The system's vkGetInstanceProcAddr; null, with `why`, where there is none. Its loader stays open.
vk::GetFunction vulkan_getter(std::string& why);

// What is asked of a renderer, before and after it has a device.
class VulkanCard {
public:
    // Of `shown`, only `instance`, `physical_device` and the getter are looked at. Throws
    // Error(SOTTO_ERROR_ARGUMENT) for handles that don't belong together, and
    // Error(SOTTO_ERROR_UNSUPPORTED) where there is no Vulkan.
    explicit VulkanCard(const sotto_gpu_vulkan& shown);

    // Throws Error(SOTTO_ERROR_ARGUMENT) where `queue` isn't the device's, or doesn't draw.
    void check_queue() const;

    // As the CUDA driver names the same card. Throws Error(SOTTO_ERROR_UNSUPPORTED) where Vulkan is too old.
    std::string uuid() const;
    // Why its device can't lend a queue; empty: it can, if it was made for it.
    std::string external_why() const;

    const sotto_gpu_vulkan& shown() const noexcept { return shown_; }
    // A function of the device, or null.
    vk::Function device_function(const char* name) const;
    vk::ExternalProperties external_properties() const;

private:
    template <typename Function>
    Function required(const char* name) const;

    const sotto_gpu_vulkan shown_;
    vk::GetFunction get_;
};

// A queue of the renderer's device that is CUDA's to use; destroyed with this.
class ExternalQueue {
public:
    // Throws Error(SOTTO_ERROR_UNSUPPORTED), and leaves nothing.
    explicit ExternalQueue(const VulkanCard& card);
    ~ExternalQueue();
    ExternalQueue(const ExternalQueue&) = delete;
    ExternalQueue& operator=(const ExternalQueue&) = delete;

    // What a CiG context is made from.
    void* data() noexcept { return data_.data(); }

private:
    void* const device_;
    void* queue_ = nullptr;
    vk::DestroyExternalQueue destroy_ = nullptr;
    std::vector<std::max_align_t> data_;
};

} // namespace sotto::gpu
