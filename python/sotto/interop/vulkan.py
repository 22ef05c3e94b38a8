"""Converts objects of the `vulkan` package (`pip install sotto-runtime[vulkan]`).

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
from .._values import wrong_type
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
    """Converts the Vulkan handles of a renderer for `Engine.attach_gpu()`.

    All handles must live until the engine is detached.

    Args:
        instance: the `VkInstance`.
        physical_device: the `VkPhysicalDevice`.
        device: the `VkDevice`.
        queue: the `VkQueue`.
        queue_family: family index of the queue.
        queue_index: index of the queue in its family.

    Raises:
        TypeError: a handle has another type.
        ArgumentError: a handle is NULL.
        ImportError: the package `vulkan` or a Vulkan loader is missing.
    """
    ffi = _ffi()
    given = {"instance": instance, "physical_device": physical_device, "device": device, "queue": queue}
    handles = {name: _address(ffi, name, value) for name, value in given.items()}
    return Vulkan(**handles, queue_family=queue_family, queue_index=queue_index)


class Needs(NamedTuple):
    """Requirements of CiG, the closest level of GPU sharing, for the creation of a `VkDevice`."""

    extensions: list[str]  # extensions to enable. Empty: CiG is unavailable, see `why`
    next: Any  # struct to append to the end of the pNext chain, or None
    reason: str  # reason why CiG is unavailable. Empty: it is available


def needs(instance: object, physical_device: object) -> Needs:
    """Returns the requirements of CiG. Call it before you create the `VkDevice`.

    A device without these extensions and `next` gets a lower level of GPU sharing.

    Raises:
        TypeError: a handle has another type.
        ArgumentError: a handle is NULL.
        ImportError: the package `vulkan` or a Vulkan loader is missing.
        SottoError: the query fails.
    """
    ffi = _ffi()
    given = {"instance": instance, "physical_device": physical_device}
    handles = {name: pointer(_address(ffi, name, value)) for name, value in given.items()}
    told = struct("sotto_gpu_vulkan_needs")
    check(lib.sotto_gpu_query_vulkan(struct("sotto_gpu_vulkan", **handles), told))
    names = strings(told.extensions, told.extension_count)
    chained = address_of(told.next)
    return Needs(names, ffi.cast("void *", chained) if chained else None, text(told.reason))


def _address(ffi: Any, name: str, value: object) -> int:
    wanted = _HANDLES[name]
    if not isinstance(value, ffi.CData) or ffi.typeof(value) != ffi.typeof(wanted):
        raise wrong_type(name, value, f"a {wanted} of the package vulkan")
    address = int(ffi.cast("uintptr_t", value))
    if address == 0:
        raise ArgumentError(f"invalid {name} 'NULL': expected a {wanted}; create the object first")
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
