"""Graphics cards: what they can share with a renderer, and what an engine is handed of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ._call import check, function_pointer, new, pointer, struct, text
from ._desc import StrPath, path_text
from ._handle import Handle
from ._lib import lib, library_folder
from ._values import choice, whole
from .errors import ArgumentError

_MOST_U32, _MOST_U64 = 2**32 - 1, 2**64 - 1
RUNGS: Mapping[str, int] = {
    "any": lib.SOTTO_GPU_SHARING_NONE,
    "cpu": lib.SOTTO_GPU_SHARING_CPU,
    "vulkan": lib.SOTTO_GPU_SHARING_VULKAN,
    "cuda": lib.SOTTO_GPU_SHARING_CUDA,
    "cig": lib.SOTTO_GPU_SHARING_CIG,
}
_NAMES = {value: name for name, value in RUNGS.items()}


class Gpu(NamedTuple):
    """A graphics card, as its driver describes it."""

    name: str
    uuid: str
    luid: int  # LowPart, and HighPart above it; 0: it has none, as outside Windows
    vram: int  # bytes
    driver: str  # the newest CUDA that the driver speaks
    capability: int  # CUDA's: 89 is 8.9
    cig_d3d12: bool  # whether it can be shared with a renderer on Direct3D 12
    cig_d3d12_why: str  # why not, where it can't
    cig_vulkan: bool
    cig_vulkan_why: str


class D3D12(NamedTuple):
    """A renderer on Direct3D 12: addresses of its ID3D12Device and direct ID3D12CommandQueue."""

    device: int
    queue: int
    luid: int = 0  # its adapter's; 0: the device is asked

    def crossed(self) -> dict[str, Any]:
        """The fields of its struct."""
        handles = {name: _address(name, getattr(self, name)) for name in ("device", "queue")}
        return {**handles, "luid": whole("luid", self.luid, _MOST_U64)}


class Vulkan(NamedTuple):
    """A renderer on Vulkan: its handles as addresses, and which queue it draws with."""

    instance: int
    physical_device: int
    device: int
    queue: int
    queue_family: int = 0
    queue_index: int = 0
    get_instance_proc_addr: int = 0  # 0: that of the system's loader

    def crossed(self) -> dict[str, Any]:
        """The fields of its struct."""
        names = ("instance", "physical_device", "device", "queue")
        return {
            **{name: _address(name, getattr(self, name)) for name in names},
            "queue_family": whole("queue_family", self.queue_family, _MOST_U32),
            "queue_index": whole("queue_index", self.queue_index, _MOST_U32),
            "get_instance_proc_addr": function_pointer(
                "sotto_vulkan_proc_fn",
                whole("get_instance_proc_addr", self.get_instance_proc_addr, _MOST_U64),
            ),
        }


class Cuda(NamedTuple):
    """A CUDA context that the host has already: its address."""

    context: int

    def crossed(self) -> dict[str, Any]:
        """The fields of its struct."""
        return {"context": _address("context", self.context)}


Renderer = D3D12 | Vulkan | Cuda
_STRUCTS = {D3D12: ("d3d12", "sotto_gpu_d3d12"), Vulkan: ("vulkan", "sotto_gpu_vulkan")}
_STRUCTS[Cuda] = ("cuda", "sotto_gpu_cuda")


def gpus() -> list[Gpu]:
    """The cards that the CUDA driver knows, in its order. None, where there is no driver."""
    found: list[Gpu] = []
    while isinstance(gpu := _query(len(found)), Gpu):
        found.append(gpu)
    return found


def why_none() -> str:
    """Why there is no card, in words. Empty: there is one."""
    asked = _query(0)
    return asked if isinstance(asked, str) else ""


def why_no_cuda() -> str:
    """Why no model here can compute with CUDA, in words. Empty: there is a module for it."""
    folder = library_folder()
    there = any(folder.glob("*sotto_*_cuda-*"))
    return "" if there else f"there is no module sotto_llama_cuda in {folder}"


def require_device(device: str, module_dir: StrPath | None) -> None:
    """Raises if no backend module can compute on an engine's device, or CUDA's driver knows no card."""
    kind = next((kind for kind in ("cuda", "vulkan") if device.startswith(kind)), None)
    if kind is None:
        return
    from pathlib import Path

    folder = library_folder() if module_dir is None else Path(path_text("module_dir", module_dir))
    found = {name: any(folder.glob(f"*sotto_*_{name}[-.]*")) for name in ("cuda", "vulkan")}
    why = f"{folder} holds no module sotto_llama_{kind}"
    if found[kind]:
        why = why_none() if kind == "cuda" else ""
    if why:
        others = (name for name in found if found[name] and name != kind)
        there = ", ".join(f"'{name}'" for name in ("auto", "cpu", *others))
        wrong = f"invalid device '{device}': expected {there}; {why}"
        raise ArgumentError(wrong, lib.SOTTO_ERROR_UNSUPPORTED)


def _query(index: int) -> Gpu | str:
    info = struct("sotto_gpu_info")
    if check(lib.sotto_gpu_query(whole("device_index", index, _MOST_U32), info)) == lib.SOTTO_EMPTY:
        return text(info.why)
    return Gpu(
        name=text(info.name),
        uuid=text(info.uuid),
        luid=info.luid,
        vram=info.vram,
        driver=text(info.driver),
        capability=info.capability,
        cig_d3d12=bool(info.cig_d3d12),
        cig_d3d12_why=text(info.cig_d3d12_why),
        cig_vulkan=bool(info.cig_vulkan),
        cig_vulkan_why=text(info.cig_vulkan_why),
    )


def _address(name: str, value: object) -> Any:
    return pointer(whole(name, value, _MOST_U64))


def described(renderer: Renderer, min_sharing: str) -> Any:
    """The struct for a renderer. What it points at lives as long as it does."""
    if type(renderer) not in _STRUCTS:
        raise TypeError(f"renderer is {renderer!r}; it must be a sotto.gpu.D3D12, Vulkan or Cuda")
    field, name = _STRUCTS[type(renderer)]
    return struct(
        "sotto_gpu_desc",
        min_sharing=choice("min_sharing", min_sharing, RUNGS),
        **{field: struct(name, **renderer.crossed())},
    )


class SharesGpu:
    """What an engine does with a card. Part of `Engine`."""

    _handle: Handle

    def attach_gpu(self, renderer: Renderer, *, min_sharing: str = "any") -> str:
        """Shares a renderer's card from now on. Returns how closely: "cig", "cuda", "vulkan" or "cpu".

        What the renderer's handles name must live until `detach_gpu()`. `describe()["gpu"]` tells why it is
        no closer. Raises where it is not as close as `min_sharing`.
        """
        rung = new("sotto_gpu_sharing *")
        self._handle.call(lib.sotto_engine_attach_gpu, described(renderer, min_sharing), rung)
        return _NAMES[rung[0]]

    def detach_gpu(self) -> bool:
        """Ends the sharing, before the renderer's queue goes, or when its device was lost.

        Characters stay; answers under way on the card end as cancelled. False: none was shared.
        """
        return bool(self._handle.call(lib.sotto_engine_detach_gpu) == lib.SOTTO_OK)

    @staticmethod
    def is_cig_d3d12_supported(device_index: int = 0) -> bool:
        """Whether models can share that card with a renderer on Direct3D 12. Always False without CUDA.

        Why not: `sotto.gpu.why_no_cuda()`, else `sotto.gpu.gpus()`.
        """
        asked = "" if why_no_cuda() else _query(device_index)
        return isinstance(asked, Gpu) and asked.cig_d3d12

    @staticmethod
    def is_cig_vulkan_supported(device_index: int = 0) -> bool:
        """Whether models can share that card with a renderer on Vulkan. Always False without CUDA.

        Why not: `sotto.gpu.why_no_cuda()`, else `sotto.gpu.gpus()`.
        """
        asked = "" if why_no_cuda() else _query(device_index)
        return isinstance(asked, Gpu) and asked.cig_vulkan
