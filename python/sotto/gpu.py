"""Graphics cards: their properties, and sharing one between a renderer and an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from ._call import check, function_pointer, new, pointer, struct, text
from ._desc import StrPath, path_text
from ._handle import Handle
from ._lib import lib, library_folder
from ._values import choice, whole, wrong_type
from .errors import ArgumentError, SottoError, Status

_MOST_U32, _MOST_U64 = 2**32 - 1, 2**64 - 1
MinSharing = Literal["any", "cpu", "vulkan", "cuda", "cig"]

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
    luid: int  # LowPart in the lower 32 bits, HighPart in the upper 32; 0: no LUID, as outside Windows
    vram: int  # bytes
    driver: str  # newest CUDA version that the driver supports, as "13.0"
    capability: int  # CUDA compute capability: 89 is 8.9
    cig_d3d12: bool  # True: models can share the card with a Direct3D 12 renderer
    cig_d3d12_reason: str  # reason if cig_d3d12 is False
    cig_vulkan: bool  # True: models can share the card with a Vulkan renderer
    cig_vulkan_reason: str  # reason if cig_vulkan is False


class D3D12(NamedTuple):
    """A Direct3D 12 renderer: addresses of its ID3D12Device and its direct ID3D12CommandQueue."""

    device: int
    queue: int
    luid: int = 0  # LUID of the adapter; 0: queried from `device`

    def crossed(self) -> dict[str, Any]:
        """Returns the fields of the C struct."""
        handles = {name: _address(name, getattr(self, name)) for name in ("device", "queue")}
        return {**handles, "luid": whole("luid", self.luid, _MOST_U64)}


class Vulkan(NamedTuple):
    """A Vulkan renderer: addresses of its handles, and the family and index of its queue."""

    instance: int
    physical_device: int
    device: int
    queue: int
    queue_family: int = 0
    queue_index: int = 0
    get_instance_proc_addr: int = 0  # address of vkGetInstanceProcAddr; 0: the system loader's

    def crossed(self) -> dict[str, Any]:
        """Returns the fields of the C struct."""
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
    """The address of a CUDA context that the host already has."""

    context: int

    def crossed(self) -> dict[str, Any]:
        """Returns the fields of the C struct."""
        return {"context": _address("context", self.context)}


Renderer = D3D12 | Vulkan | Cuda
_STRUCTS = {D3D12: ("d3d12", "sotto_gpu_d3d12"), Vulkan: ("vulkan", "sotto_gpu_vulkan")}
_STRUCTS[Cuda] = ("cuda", "sotto_gpu_cuda")


def gpus() -> list[Gpu]:
    """Returns the cards in the CUDA driver's order; an empty list without a CUDA driver."""
    found: list[Gpu] = []
    while isinstance(gpu := _query(len(found)), Gpu):
        found.append(gpu)
    return found


def why_none() -> str:
    """Returns the reason why the CUDA driver reports no card; empty if it reports one."""
    asked = _query(0)
    return asked if isinstance(asked, str) else ""


def why_no_cuda() -> str:
    """Returns the reason why models cannot run on CUDA; empty if a CUDA module is installed."""
    folder = library_folder()
    there = any(folder.glob("*sotto_*_cuda-*"))
    return "" if there else f"module sotto_llama_cuda was not found in {folder}"


def require_device(device: str, module_dir: StrPath | None) -> None:
    """Checks that an engine can run on `device`.

    Raises:
        ArgumentError: No installed backend module supports the device, or the CUDA driver reports no card.
    """
    kind = next((kind for kind in ("cuda", "vulkan") if device.startswith(kind)), None)
    if kind is None:
        return
    from pathlib import Path

    folder = library_folder() if module_dir is None else Path(path_text("module_dir", module_dir))
    found = {name: any(folder.glob(f"*sotto_*_{name}[-.]*")) for name in ("cuda", "vulkan")}
    why = f"{folder} contains no module sotto_llama_{kind}"
    if found[kind]:
        why = why_none() if kind == "cuda" else ""
    if why:
        others = (name for name in found if found[name] and name != kind)
        there = ", ".join(f"'{name}'" for name in ("auto", "cpu", *others))
        wrong = f"invalid device '{device}': expected {there}; {why}"
        raise ArgumentError(wrong, lib.SOTTO_ERROR_UNSUPPORTED)


def _query(index: int) -> Gpu | str:
    info = struct("sotto_gpu_info")
    try:
        check(lib.sotto_gpu_query(whole("device_index", index, _MOST_U32), info))
    except SottoError as error:
        if error.status != Status.NOT_FOUND:
            raise
        return str(error)
    return Gpu(
        name=text(info.name),
        uuid=text(info.uuid),
        luid=info.luid,
        vram=info.vram,
        driver=text(info.driver),
        capability=info.capability,
        cig_d3d12=bool(info.cig_d3d12),
        cig_d3d12_reason=text(info.cig_d3d12_reason),
        cig_vulkan=bool(info.cig_vulkan),
        cig_vulkan_reason=text(info.cig_vulkan_reason),
    )


def _address(name: str, value: object) -> Any:
    return pointer(whole(name, value, _MOST_U64))


def described(renderer: Renderer, min_sharing: str) -> Any:
    """Returns a `sotto_gpu_desc`, which keeps the structs that it points to alive."""
    if type(renderer) not in _STRUCTS:
        raise wrong_type("renderer", renderer, "a sotto.gpu.D3D12, Vulkan or Cuda")
    field, name = _STRUCTS[type(renderer)]
    return struct(
        "sotto_gpu_desc",
        min_sharing=choice("min_sharing", min_sharing, RUNGS),
        **{field: struct(name, **renderer.crossed())},
    )


class SharesGpu:
    """Part of `Engine`: sharing a graphics card with a renderer."""

    _handle: Handle

    def attach_gpu(self, renderer: Renderer, *, min_sharing: MinSharing = "any") -> str:
        """Starts sharing the renderer's graphics card. The renderer's objects must live until `detach_gpu()`.

        Args:
            renderer: A `D3D12`, `Vulkan` or `Cuda`.
            min_sharing: Minimum sharing level, ascending: "any", "cpu", "vulkan", "cuda", "cig".

        Returns:
            The level: "cig", "cuda", "vulkan" or "cpu". `describe()["gpu"]` holds the reason if not closer.

        Raises:
            SottoError: The level would be below `min_sharing`, or the engine already shares a card.
        """
        rung = new("sotto_gpu_sharing *")
        self._handle.call(lib.sotto_engine_attach_gpu, described(renderer, min_sharing), rung)
        return _NAMES[rung[0]]

    def detach_gpu(self) -> bool:
        """Ends sharing. Call it before destroying the renderer's queue, or when its device was lost.

        Sessions keep their conversations; answers that run on the card end as cancelled.

        Returns:
            False if the engine shares no card.
        """
        try:
            self._handle.call(lib.sotto_engine_detach_gpu)
        except SottoError as error:
            if error.status != Status.STATE or self._handle.closed:
                raise
            return False
        return True

    @staticmethod
    def is_cig_d3d12_supported(device_index: int = 0) -> bool:
        """Returns True if models can share the card with a Direct3D 12 renderer. Always False without CUDA.

        Requires Windows, an NVIDIA driver of release 570 or newer, CUDA 12.8 or newer and an Ada card
        (compute capability 8.9) or newer.

        `sotto.gpu.why_no_cuda()` or `cig_d3d12_reason` in `sotto.gpu.gpus()` holds the reason.
        """
        asked = "" if why_no_cuda() else _query(device_index)
        return isinstance(asked, Gpu) and asked.cig_d3d12

    @staticmethod
    def is_cig_vulkan_supported(device_index: int = 0) -> bool:
        """Returns True if models can share the card with a Vulkan renderer. Always False without CUDA.

        Requires an NVIDIA driver of release 570 or newer, CUDA 12.9 or newer and an Ada card (compute
        capability 8.9) or newer.

        `sotto.gpu.why_no_cuda()` or `cig_vulkan_reason` in `sotto.gpu.gpus()` holds the reason.
        """
        asked = "" if why_no_cuda() else _query(device_index)
        return isinstance(asked, Gpu) and asked.cig_vulkan
