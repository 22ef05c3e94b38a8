"""A renderer without a window: an instance, a device and a queue, made with the `vulkan` package."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import vulkan as vk


class Renderer:
    """Of the first device that there is."""

    def __init__(self) -> None:
        application = vk.VkApplicationInfo(
            sType=vk.VK_STRUCTURE_TYPE_APPLICATION_INFO, apiVersion=vk.VK_MAKE_VERSION(1, 2, 0)
        )
        wanted = vk.VkInstanceCreateInfo(
            sType=vk.VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, pApplicationInfo=application
        )
        self.instance: Any = vk.vkCreateInstance(wanted, None)
        self.physical_device: Any = vk.vkEnumeratePhysicalDevices(self.instance)[0]
        families = vk.vkGetPhysicalDeviceQueueFamilyProperties(self.physical_device)
        self.family = next(
            at for at, family in enumerate(families) if family.queueFlags & vk.VK_QUEUE_GRAPHICS_BIT
        )
        queues = vk.VkDeviceQueueCreateInfo(
            sType=vk.VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
            queueFamilyIndex=self.family,
            pQueuePriorities=[1.0],
        )
        device = vk.VkDeviceCreateInfo(
            sType=vk.VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, pQueueCreateInfos=[queues]
        )
        self.device: Any = vk.vkCreateDevice(self.physical_device, device, None)
        self.queue: Any = vk.vkGetDeviceQueue(self.device, self.family, 0)

    def __enter__(self) -> Renderer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        vk.vkDestroyDevice(self.device, None)
        vk.vkDestroyInstance(self.instance, None)
