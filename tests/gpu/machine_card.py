"""The NVIDIA cards of this machine, asked without anything of ours: of the CUDA driver and of NVML."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

DRIVER, NVML = "libcuda.so.1", "libnvidia-ml.so.1"
CIG_D3D12, CIG_VULKAN = 135, 138  # attributes of a card


class Missing(Exception):
    """This machine has no card to run on; the message says what is not there."""


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
    """The management library: what of a card's memory is in use, by whomever."""

    def __init__(self, library: str = NVML) -> None:
        self.library = opened(library, "NVIDIA's graphics driver")
        self.call("nvmlInit_v2")
        self.handle, name, uuid = ctypes.c_void_p(), *(ctypes.create_string_buffer(96) for _ in range(2))
        self.call("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(self.handle))
        self.call("nvmlDeviceGetName", self.handle, name, 96)
        self.call("nvmlDeviceGetUUID", self.handle, uuid, 96)
        self.card = Card(name.value.decode(), uuid.value.decode(), self.memory().total)

    def call(self, name: str, *arguments: object) -> None:
        """One of its functions."""
        result = getattr(self.library, name)(*arguments)
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
