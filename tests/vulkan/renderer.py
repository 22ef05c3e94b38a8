"""A renderer without a window: an instance, a device and a queue, made with the `vulkan` package.

The device is made as the engine wants it, so that its card can be shared as closely as the driver allows.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import vulkan as vk
from sotto.interop import vulkan


class Renderer:
    """Of the first device that there is, or the first of a vendor's."""

    def __init__(self, vendor: int = 0) -> None:
        application = vk.VkApplicationInfo(
            sType=vk.VK_STRUCTURE_TYPE_APPLICATION_INFO, apiVersion=vk.VK_MAKE_VERSION(1, 2, 0)
        )
        wanted = vk.VkInstanceCreateInfo(
            sType=vk.VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, pApplicationInfo=application
        )
        self.instance: Any = vk.vkCreateInstance(wanted, None)
        devices = vk.vkEnumeratePhysicalDevices(self.instance)
        self.physical_device: Any = next(
            one for one in devices if vendor in (0, vk.vkGetPhysicalDeviceProperties(one).vendorID)
        )
        families = vk.vkGetPhysicalDeviceQueueFamilyProperties(self.physical_device)
        self.family = next(
            at for at, family in enumerate(families) if family.queueFlags & vk.VK_QUEUE_GRAPHICS_BIT
        )
        queues = vk.VkDeviceQueueCreateInfo(
            sType=vk.VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
            queueFamilyIndex=self.family,
            pQueuePriorities=[1.0],
        )
        self.needs = vulkan.needs(self.instance, self.physical_device)
        device = vk.VkDeviceCreateInfo(
            sType=vk.VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
            pNext=self.needs.next,
            pQueueCreateInfos=[queues],
            ppEnabledExtensionNames=self.needs.extensions,
        )
        self.device: Any = vk.vkCreateDevice(self.physical_device, device, None)
        self.queue: Any = vk.vkGetDeviceQueue(self.device, self.family, 0)

    @property
    def handed(self) -> Any:
        """What `Engine.attach_gpu()` takes of it."""
        return vulkan.renderer(
            self.instance, self.physical_device, self.device, self.queue, queue_family=self.family
        )

    def __enter__(self) -> Renderer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        vk.vkDestroyDevice(self.device, None)
        vk.vkDestroyInstance(self.instance, None)
