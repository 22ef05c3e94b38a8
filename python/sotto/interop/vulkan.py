"""Objects of the `vulkan` package (`pip install sotto-runtime[vulkan]`).

>>> import vulkan as vk
>>> from sotto.interop import vulkan
>>> needs = vulkan.needs(instance, physical_device)  # its extensions and pNext, for VkDeviceCreateInfo
>>> queue = vk.vkGetDeviceQueue(device, family, 0)
>>> engine.attach_gpu(vulkan.renderer(instance, physical_device, device, queue, queue_family=family))
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._call import address_of, check, pointer, strings, struct, text
from .._lib import lib
from ..errors import ArgumentError
from ..gpu import Vulkan

_HANDLES = {
    "instance": "VkInstance",
    "physical_device": "VkPhysicalDevice",
    "device": "VkDevice",
    "queue": "VkQueue",
}


def renderer(
    instance: object,
    physical_device: object,
    device: object,
    queue: object,
    *,
    queue_family: int = 0,
    queue_index: int = 0,
) -> Vulkan:
    """What `Engine.attach_gpu()` takes of a renderer. All of it must live until the engine is detached."""
    ffi = _ffi()
    given = {"instance": instance, "physical_device": physical_device, "device": device, "queue": queue}
    handles = {name: _address(ffi, name, value) for name, value in given.items()}
    return Vulkan(**handles, queue_family=queue_family, queue_index=queue_index)


class Needs(NamedTuple):
    """What a renderer's device must be made with, so that the card can be shared closely."""

    extensions: list[str]  # to be enabled; none: it can't be shared so, see `why`
    next: Any  # goes last in the chain of pNext, or is None
    why: str  # empty: it can


def needs(instance: object, physical_device: object) -> Needs:
    """Asks before the device is made. Whoever leaves out what it says is shared less closely."""
    ffi = _ffi()
    given = {"instance": instance, "physical_device": physical_device}
    handles = {name: pointer(_address(ffi, name, value)) for name, value in given.items()}
    told = struct("sotto_gpu_vulkan_needs")
    check(lib.sotto_gpu_query_vulkan(struct("sotto_gpu_vulkan", **handles), told))
    names = strings(told.extensions, told.extension_count)
    chained = address_of(told.next)
    return Needs(names, ffi.cast("void *", chained) if chained else None, text(told.why))


def _address(ffi: Any, name: str, value: object) -> int:
    wanted = _HANDLES[name]
    if not isinstance(value, ffi.CData) or ffi.typeof(value) != ffi.typeof(wanted):
        raise TypeError(f"{name} is {value!r}; it must be a {wanted} of the package vulkan")
    address = int(ffi.cast("uintptr_t", value))
    if address == 0:
        raise ArgumentError(f"{name} is a {wanted} of NULL; make one first")
    return address


def _ffi() -> Any:
    try:
        import vulkan
    except ImportError as error:
        raise ImportError(
            "sotto.interop.vulkan needs the package vulkan; pip install sotto-runtime[vulkan]"
        ) from error
    except OSError as error:
        raise ImportError(f"the package vulkan finds no Vulkan loader: {error}") from error
    return vulkan.ffi
