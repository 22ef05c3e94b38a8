"""Parts of `aio.Engine`: LoRA adapters, operations with data, graphics cards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import engine as blocking
from ._aio import Request
from ._aio_images import MakesImages
from ._aio_streams import TokenStream
from ._checks import check_body
from ._desc import Json, StrPath
from ._json import load
from ._lib import lib
from ._typing import Unpack
from .data import (
    Embeddings,
    Ranked,
    Transcription,
    Translation,
    performed,
    read_embeddings,
    read_ranking,
    read_transcription,
    read_translation,
)
from .errors import SottoError
from .gpu import MinSharing, Renderer
from .guard import Guard, Guardrails, Stage, Verdict, read_verdict
from .quantize import Quantized, quantize_body, read_quantized
from .respond import Response, read_response
from .save_game import NO_FILES, Advance, Files, SavedGame, copies, game_body, read_saved
from .slots import Slot, SlotState, read_slot_state, read_slots
from .store import Store
from .terms import RequestOptions


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


class KeepsStores:
    """Part of `aio.Engine`: key-value stores. Each method waits for the disk on a thread of its own."""

    _engine: blocking.Engine

    async def kvstore_create(self, store_id: str, dim: int, path: StrPath | None = None) -> None:
        """Creates a store, or opens the existing one, as `sotto.Engine.kvstore_create()` does."""
        await asyncio.to_thread(self._engine.kvstore_create, store_id, dim, path)

    async def kvstore_insert(self, store_id: str, entries_json: str) -> None:
        """Inserts entries, as `sotto.Engine.kvstore_insert()` does."""
        await asyncio.to_thread(self._engine.kvstore_insert, store_id, entries_json)

    async def kvstore_query(self, store_id: str, query_json: Json) -> str:
        """Finds entries by their embeddings, as `sotto.Engine.kvstore_query()` does."""
        return await asyncio.to_thread(self._engine.kvstore_query, store_id, query_json)

    async def kvstore_get(self, store_id: str, entry_id: str) -> str:
        """Returns an entry, as `sotto.Engine.kvstore_get()` does."""
        return await asyncio.to_thread(self._engine.kvstore_get, store_id, entry_id)

    async def kvstore_delete(self, store_id: str) -> None:
        """Deletes a store and its files, as `sotto.Engine.kvstore_delete()` does."""
        await asyncio.to_thread(self._engine.kvstore_delete, store_id)

    async def kvstore_list(self) -> str:
        """Returns the names of the stores as a JSON array."""
        return await asyncio.to_thread(self._engine.kvstore_list)


class Checks:
    """Part of `aio.Engine`: guardrails."""

    _guard: Guard | None
    _ask: Callable[..., Request]

    async def check(
        self,
        text: str,
        stage: Stage = "input",
        guardrails: Guardrails | None = None,
        **terms: Unpack[RequestOptions],
    ) -> Verdict:
        """Checks a text with guardrails of all types, as `sotto.Engine.check()` does."""
        body = check_body(self._guard, text, stage, guardrails)
        with performed():
            return read_verdict((await self._ask("check", body, terms).finish()).json)

    async def guardrail_check_input(self, text: str) -> str:
        """Checks what a player wrote, as `sotto.Engine.guardrail_check_input()` does."""
        return (await self.check(text, "input")).json

    async def guardrail_check_output(self, text: str) -> str:
        """Checks what a model wrote, as `sotto.Engine.guardrail_check_output()` does."""
        return (await self.check(text, "output")).json

    async def guardrail_check_image_prompt(self, text: str) -> str:
        """Checks the prompt of an image, as `sotto.Engine.guardrail_check_image_prompt()` does."""
        return (await self.check(text, "image_prompt")).json


class MakesData:
    """Part of `aio.Engine`: operations whose answer is data."""

    _engine: blocking.Engine
    _ask: Callable[..., Request]

    async def embed(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Answers an OpenAI embeddings request, as `sotto.Engine.embed()` does."""
        with performed():
            return (await self._ask("embed", request_json, terms).finish()).json

    async def embeddings(
        self,
        texts: str | Sequence[str],
        *,
        model: str | None = None,
        dimensions: int | None = None,
        **fields: Any,
    ) -> Embeddings:
        """Embeds texts, as `sotto.Engine.embeddings()` does."""
        body, options = self._engine._embed_body(texts, model, {**fields, "dimensions": dimensions})
        with performed():
            return read_embeddings((await self._ask("embed", body, options).finish()).json)

    async def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        model: str | None = None,
        top_n: int | None = None,
        **fields: Any,
    ) -> tuple[Ranked, ...]:
        """Ranks documents, as `sotto.Engine.rerank()` does."""
        body, options = self._engine._rerank_body(query, documents, model, {**fields, "top_n": top_n})
        with performed():
            return read_ranking((await self._ask("rerank", body, options).finish()).json, documents)

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


class Responds:
    """Part of `aio.Engine`: responses, whose conversations the engine stores."""

    _engine: blocking.Engine
    _ask: Callable[..., Request]

    async def llm_respond(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Answers a request of OpenAI's Responses API, as `sotto.Engine.llm_respond()` does."""
        return (await self._ask("respond", request_json, terms).finish()).json

    def llm_respond_stream(self, request_json: Json, **terms: Unpack[RequestOptions]) -> TokenStream:
        """Answers a request of OpenAI's Responses API; returns its stream of events."""
        return TokenStream(self._ask("respond", request_json, terms, lib.SOTTO_REQUEST_CHUNKS))

    async def respond(
        self,
        said: str | Sequence[Mapping[str, Any]],
        *,
        model: str | None = None,
        previous: Response | str | None = None,
        instructions: str | None = None,
        **fields: Any,
    ) -> Response:
        """Answers what is new in a conversation, as `sotto.Engine.respond()` does."""
        body, options = self._engine._respond_body(said, model, previous, instructions, fields)
        return read_response((await self._ask("respond", body, options).finish()).json)


class Inspects:
    """Part of `aio.Engine`: slots and model cards."""

    _engine: blocking.Engine
    _ask: Callable[..., Request]

    def model_info(self, model: str | None = None) -> Mapping[str, Any]:
        """Returns the entry of a loaded model, as `sotto.Engine.model_info()` does. Never waits."""
        return self._engine.model_info(model)

    async def slots(self, model: str | None = None) -> tuple[Slot, ...]:
        """Returns the slots of a model, as `sotto.Engine.slots()` does."""
        return read_slots(await self._slots(model))

    async def save_slot(self, slot: int, path: StrPath, *, model: str | None = None) -> SlotState:
        """Saves a slot to a file, as `sotto.Engine.save_slot()` does."""
        return read_slot_state(await self._slots(model, "save", slot, path))

    async def restore_slot(self, slot: int, path: StrPath, *, model: str | None = None) -> SlotState:
        """Restores a slot from a file, as `sotto.Engine.restore_slot()` does."""
        return read_slot_state(await self._slots(model, "restore", slot, path))

    async def erase_slot(self, slot: int, *, model: str | None = None) -> int:
        """Empties a slot, as `sotto.Engine.erase_slot()` does."""
        return int(load(await self._slots(model, "erase", slot))["n_erased"])

    async def _slots(self, *on: Any) -> str:
        body = self._engine._slot_body(*on)
        return (await self._ask("slots", body, {}).finish()).json


class SavesGames:
    """Part of `aio.Engine`: save games."""

    _engine: blocking.Engine
    _numbers: Iterator[int]
    _request: Callable[..., Request]

    async def save_game(
        self,
        path: StrPath,
        *,
        stores: Iterable[Store] = (),
        files: Files = NO_FILES,
        progress: Advance | None = None,
    ) -> SavedGame:
        """Saves all conversations to a file, as `sotto.Engine.save_game()` does."""
        with copies(stores, files) as (made, named):
            for store, copy in made:
                await asyncio.to_thread(store.backup, copy)
            return await self._game("save_game", path, named, progress)

    async def restore_game(
        self,
        path: StrPath,
        *,
        stores: Iterable[Store] = (),
        files: Files = NO_FILES,
        progress: Advance | None = None,
    ) -> SavedGame:
        """Restores the conversations of a save game, as `sotto.Engine.restore_game()` does."""
        with copies(stores, files) as (made, named):
            restored = await self._game("restore_game", path, named, progress)
            for store, copy in made:
                await asyncio.to_thread(store.restore, copy)
            return restored

    async def _game(self, op: str, path: StrPath, files: Files, progress: Advance | None) -> SavedGame:
        number = next(self._numbers)
        desc = self._engine._request_desc(op, game_body(path, files), 0, {}, user=number)
        request = self._request(number, SottoError, lib.sotto_engine_submit, desc)
        return read_saved((await request.finish(progress)).json)


class Quantizes:
    """Part of `aio.Engine`: quantization of model files."""

    _engine: blocking.Engine
    _numbers: Iterator[int]
    _request: Callable[..., Request]

    async def quantize(
        self,
        path: StrPath,
        to_path: StrPath,
        *,
        type: str,
        imatrix: StrPath | None = None,
        threads: int = 0,
        progress: Advance | None = None,
    ) -> Quantized:
        """Writes a model's file in a smaller type, as `sotto.Engine.quantize()` does."""
        body = quantize_body(path, to_path, type, imatrix, threads)
        number = next(self._numbers)
        desc = self._engine._request_desc("quantize", body, 0, {}, user=number)
        request = self._request(number, SottoError, lib.sotto_engine_submit, desc)
        return read_quantized((await request.finish(progress)).json)


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


class Parts(
    Adapts,
    MakesData,
    MakesImages,
    Responds,
    SavesGames,
    Quantizes,
    Inspects,
    SharesGpu,
    KeepsStores,
    Checks,
):
    """What `aio.Engine` has beside requests, models and sessions."""
