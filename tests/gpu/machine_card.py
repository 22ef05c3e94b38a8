"""The NVIDIA cards of this machine, asked without anything of ours: of the CUDA driver and of NVML."""

from __future__ import annotations

import ctypes
import uuid
from dataclasses import dataclass

DRIVER, NVML = "libcuda.so.1", "libnvidia-ml.so.1"
CIG_D3D12, CIG_VULKAN = 135, 138  # attributes of a card


class Missing(Exception):
    """This machine has no card to run on; the message says what is not there."""


LEAST_CUDA = 13000  # as cuDriverGetVersion has it


class Memory(ctypes.Structure):
    """As NVML has it."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


@dataclass(frozen=True)
class Card:
    """What the management library says of one."""

    name: str
    uuid: str  # "GPU-..."
    total: int  # bytes


def opened(library: str, brings: str) -> ctypes.CDLL:
    """A library of the driver's."""
    try:
        return ctypes.CDLL(library)
    except OSError as error:
        raise Missing(f"{library} cannot be opened ({error}); {brings} brings it") from error


class Driver:
    """The CUDA driver."""

    def __init__(self, library: str = DRIVER) -> None:
        self.library = opened(library, "NVIDIA's graphics driver")
        self.call("cuInit", 0)
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        if count.value == 0:
            raise Missing("the CUDA driver has no card")
        self.count = count.value

    def check_version(self) -> None:
        """Raises Missing where it is too old for the module."""
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        if version.value < LEAST_CUDA:
            spoken, wanted = (f"{one // 1000}.{one % 1000 // 10}" for one in (version.value, LEAST_CUDA))
            raise Missing(
                f"the CUDA driver speaks CUDA {spoken}, and {wanted} is wanted; install a newer one"
            )

    def uuid(self, card: int = 0) -> str:
        """Of a card, as NVIDIA's tools have it."""
        told = (ctypes.c_ubyte * 16)()
        self.call("cuDeviceGetUuid_v2", told, card)
        return f"GPU-{uuid.UUID(bytes=bytes(told))}"

    def call(self, name: str, *arguments: object) -> None:
        """One of its functions."""
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            raise Missing(f"{name} ended with {result}")

    def attribute(self, which: int, card: int = 0) -> int | None:
        """Of a card; None where the driver does not know it."""
        value = ctypes.c_int()
        known = self.library.cuDeviceGetAttribute(ctypes.byref(value), which, card) == 0
        return value.value if known else None

    def context(self, card: int = 0) -> int:
        """A new one, which is not left current."""
        made, popped = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuCtxCreate_v2", ctypes.byref(made), 0, card)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(popped))
        return int(made.value or 0)

    def current(self) -> int:
        """The calling thread's context; 0: none."""
        found = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(found))
        return int(found.value or 0)

    def destroy(self, context: int) -> None:
        """It goes."""
        self.call("cuCtxDestroy_v2", ctypes.c_void_p(context))


class Nvml:
    """The management library: what of a card's memory is in use, by whomever. It counts cards otherwise."""

    def __init__(self, card: str, library: str = NVML) -> None:
        self.library = opened(library, "NVIDIA's graphics driver")
        self.call("nvmlInit_v2")
        self.handle, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
        self.call("nvmlDeviceGetHandleByUUID", card.encode(), ctypes.byref(self.handle))
        self.call("nvmlDeviceGetName", self.handle, name, 96)
        self.card = Card(name.value.decode(), card, self.memory().total)

    def call(self, name: str, *arguments: object) -> None:
        """One of its functions."""
        function = getattr(self.library, name, None)
        if function is None:
            raise Missing(f"{NVML} lacks {name}; NVIDIA's graphics driver brings it")
        result = function(*arguments)
        if result != 0:
            raise Missing(f"{name} ended with {result}")

    def memory(self) -> Memory:
        """Of the card, now."""
        told = Memory()
        self.call("nvmlDeviceGetMemoryInfo", self.handle, ctypes.byref(told))
        return told

    def driver(self) -> str:
        """Its version."""
        told = ctypes.create_string_buffer(96)
        self.call("nvmlSystemGetDriverVersion", told, 96)
        return told.value.decode()
