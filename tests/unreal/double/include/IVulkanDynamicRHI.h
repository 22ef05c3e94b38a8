// Double of Unreal: see tests/unreal/double/README.md. Hands out a device of the system's Vulkan loader.
#pragma once

#include "DynamicRHI.h"

// As in vulkan.h, which the engine brings.
using VkInstance = struct VkInstance_T*;
using VkPhysicalDevice = struct VkPhysicalDevice_T*;
using VkDevice = struct VkDevice_T*;
using VkQueue = struct VkQueue_T*;

struct IVulkanDynamicRHI : public FDynamicRHI {
    ERHIInterfaceType GetInterfaceType() const final { return ERHIInterfaceType::Vulkan; }

    virtual VkInstance RHIGetVkInstance() const = 0;
    virtual VkDevice RHIGetVkDevice() const = 0;
    virtual VkPhysicalDevice RHIGetVkPhysicalDevice() const = 0;
    virtual VkQueue RHIGetGraphicsVkQueue() const = 0;
    virtual uint32 RHIGetGraphicsQueueIndex() const = 0;
    virtual uint32 RHIGetGraphicsQueueFamilyIndex() const = 0;

    /** Names extensions for the device. Only before the RHI exists. */
    static void AddEnabledDeviceExtensionsAndLayers(
        TArrayView<const ANSICHAR* const> InDeviceExtensions, TArrayView<const ANSICHAR* const> InDeviceLayers
    );
};

inline IVulkanDynamicRHI* GetIVulkanDynamicRHI() {
    return static_cast<IVulkanDynamicRHI*>(GDynamicRHI);
}
