"""Parts of `aio.Engine` and `aio.Session`: LoRA adapters and graphics cards."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from . import engine as blocking
from ._desc import StrPath
from .adapters import Lora
from .gpu import MinSharing, Renderer
from .session import lora_body


class Adapts:
    """Part of `aio.Engine`: LoRA adapters."""

    _engine: blocking.Engine

    async def lora_load(
        self, model_id: StrPath, adapter_path: StrPath, *, name: str | None = None, scale: float = 1.0
    ) -> None:
        """Loads a LoRA adapter for a loaded model, as `sotto.Engine.lora_load()` does."""
        await asyncio.to_thread(self._engine.lora_load, model_id, adapter_path, name=name, scale=scale)

    async def lora_unload(self, model_id: StrPath, *, name: str | None = None) -> None:
        """Unloads an adapter, as `sotto.Engine.lora_unload()` does."""
        await asyncio.to_thread(self._engine.lora_unload, model_id, name=name)

    async def lora_set_scale(self, model_id: StrPath, scale: float, *, name: str | None = None) -> None:
        """Sets the strength of an adapter for later requests, as `sotto.Engine.lora_set_scale()` does."""
        await asyncio.to_thread(self._engine.lora_set_scale, model_id, scale, name=name)

    def lora_list(self, model_id: StrPath) -> list[dict[str, Any]]:
        """Returns the adapters of a model, each with `name`, `path`, `scale` and `bytes`."""
        return self._engine.lora_list(model_id)


class Selects:
    """Part of `aio.Session`: the LoRA adapters of its turns."""

    _engine: Any
    id: str

    async def set_lora(self, lora: Sequence[Lora]) -> None:
        """Sets the LoRA adapters of later turns, as `sotto.Session.set_lora()` does."""
        await self._engine._ask("change_session", lora_body(self.id, lora), {}).finish()


class SharesGpu:
    """Part of `aio.Engine`: graphics cards."""

    _engine: blocking.Engine

    is_cig_d3d12_supported = staticmethod(blocking.Engine.is_cig_d3d12_supported)
    is_cig_vulkan_supported = staticmethod(blocking.Engine.is_cig_vulkan_supported)

    async def attach_gpu(self, renderer: Renderer, *, min_sharing: MinSharing = "any") -> str:
        """Starts sharing the renderer's graphics card, as `sotto.Engine.attach_gpu()` does."""
        return await asyncio.to_thread(self._engine.attach_gpu, renderer, min_sharing=min_sharing)

    async def detach_gpu(self) -> bool:
        """Ends sharing, as `sotto.Engine.detach_gpu()` does. Returns False if the engine shares no card."""
        return await asyncio.to_thread(self._engine.detach_gpu)
