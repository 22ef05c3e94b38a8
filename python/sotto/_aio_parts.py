"""Parts of `aio.Engine` and `aio.Session`: LoRA adapters, operations with data, graphics cards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from . import engine as blocking
from ._aio import Request
from ._desc import StrPath
from .adapters import Lora
from .data import (
    Embeddings,
    Transcription,
    Translation,
    read_embeddings,
    read_transcription,
    read_translation,
)
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


class MakesData:
    """Part of `aio.Engine`: operations whose answer is data."""

    _engine: blocking.Engine
    _ask: Callable[..., Request]

    async def embed(
        self,
        texts: str | Sequence[str],
        *,
        model: str | None = None,
        dimensions: int | None = None,
        **fields: Any,
    ) -> Embeddings:
        """Embeds texts, as `sotto.Engine.embed()` does."""
        body, options = self._engine._embed_body(texts, model, {**fields, "dimensions": dimensions})
        return read_embeddings((await self._ask("embed", body, options).finish()).json)

    async def transcribe(
        self,
        audio: StrPath | bytes | Any,
        *,
        model: str | None = None,
        language: str | None = None,
        prompt: str | None = None,
        words: bool = False,
        sample_rate: int = 16_000,
        **fields: Any,
    ) -> Transcription:
        """Transcribes speech, as `sotto.Engine.transcribe()` does."""
        given = {**fields, "language": language, "prompt": prompt}
        body, options = self._engine._transcribe_body(audio, model, words, sample_rate, given)
        return read_transcription((await self._ask("transcribe", body, options).finish()).json)

    async def translate(
        self,
        texts: str | Sequence[str],
        *,
        model: str | None = None,
        source: str | None = None,
        target: str | None = None,
        **fields: Any,
    ) -> Translation:
        """Translates texts, as `sotto.Engine.translate()` does."""
        given = {**fields, "source_language": source, "target_language": target}
        body, options = self._engine._translate_body(texts, model, given)
        return read_translation((await self._ask("translate", body, options).finish()).json)


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
