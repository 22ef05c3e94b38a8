"""The client's groups of endpoints: chat, embeddings, models, slots, LoRA adapters."""

# Written from `_sync/api.py` by tests/python/client_twin.py; do not edit.

from __future__ import annotations

import builtins
from typing import Any, Literal, overload

from .. import _read
from .._wire import fields, listed, slot_path
from ..types import CompletionResponse, EmbeddingsResponse, LoraAdapter, ModelInfo, SlotInfo
from .transport import AsyncStream, AsyncTransport


class AsyncChatCompletionsAPI:
    """Chat completions, `/v1/chat/completions`: `client.chat.completions.create(...)`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def completions(self) -> AsyncChatCompletionsAPI:
        """The object itself: `chat.completions.create` and `chat.create` are the same method."""
        return self

    @overload
    async def create(
        self, messages: list[dict[str, Any]], *, stream: Literal[True], **kwargs: Any
    ) -> AsyncStream: ...
    @overload
    async def create(
        self, messages: list[dict[str, Any]], *, stream: Literal[False] = False, **kwargs: Any
    ) -> CompletionResponse: ...
    @overload
    async def create(
        self, messages: list[dict[str, Any]], *, stream: bool, **kwargs: Any
    ) -> CompletionResponse | AsyncStream: ...
    async def create(
        self,
        messages: list[dict[str, Any]],
        model: str = "gpt-codex-5.3",
        max_tokens: int | None = None,
        temperature: float = 1.0,
        top_p: float = 1.0,
        n: int = 1,
        stream: bool = False,
        stop: str | list[str] | None = None,
        presence_penalty: float = 0.0,
        frequency_penalty: float = 0.0,
        logit_bias: dict[str, float] | None = None,
        user: str | None = None,
        response_format: dict[str, Any] | None = None,
        tools: list[dict[str, Any]] | None = None,
        tool_choice: str | dict[str, Any] | None = None,
        seed: int | None = None,
        mirostat: int = 0,
        mirostat_tau: float = 5.0,
        mirostat_eta: float = 0.1,
        grammar: str | None = None,
        min_p: float = 0.05,
        top_k: int = 40,
        repeat_penalty: float = 1.1,
        **kwargs: Any,
    ) -> CompletionResponse | AsyncStream:
        """Answers a chat. Sends every parameter whose value is not None.

        Args:
            messages: Messages in OpenAI's form.
            model: Id of the model. A server with a single model ignores it.
            max_tokens: Most tokens of the answer; None: no limit but the context.
            temperature: Randomness, 0.0 to 2.0; 0.0 takes the most likely token.
            top_p: Nucleus sampling; 1.0 switches it off.
            n: Number of answers.
            stream: True returns the chunks as they arrive.
            stop: Texts that end the answer, which omits them.
            presence_penalty: Penalty for tokens that occurred, -2.0 to 2.0.
            frequency_penalty: Penalty by the number of occurrences, -2.0 to 2.0.
            logit_bias: Bias by token id, as a string.
            user: Name of the end user, for the server's own use.
            response_format: `{"type": "json_object"}`, or `{"type": "json_schema", "json_schema": {...}}`.
            tools: Tools that the model may call.
            tool_choice: "none", "auto", "required" or one function.
            seed: Seed of the sampler; None: random.
            mirostat: 0: off; 1 or 2: version of Mirostat, which replaces the other samplers.
            mirostat_tau: Target entropy of Mirostat.
            mirostat_eta: Learning rate of Mirostat.
            grammar: GBNF grammar of the answer.
            min_p: Smallest probability relative to the likeliest token; 0.0 switches it off.
            top_k: Number of candidates; 0 switches it off.
            repeat_penalty: Penalty for repetition; 1.0 switches it off.
            **kwargs: Further fields of the body; a field of a parameter's name replaces it.

        Returns:
            The answer, or with `stream` an asynchronous iterator of chunks in the server's form.

        Raises:
            ApiError: The server refused the request or failed.
            ArgumentError: A value is not JSON.
            DeadlineExceeded: The answer was not complete within the client's `timeout`.
            TransportError: The server cannot be reached, or the connection broke off.
        """
        named = {
            "messages": messages,
            "model": model,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "n": n,
            "stream": stream,
            "stop": listed(stop),
            "presence_penalty": presence_penalty,
            "frequency_penalty": frequency_penalty,
            "logit_bias": logit_bias,
            "user": user,
            "response_format": response_format,
            "tools": tools,
            "tool_choice": tool_choice,
            "seed": seed,
            "mirostat": mirostat,
            "mirostat_tau": mirostat_tau,
            "mirostat_eta": mirostat_eta,
            "grammar": grammar,
            "min_p": min_p,
            "top_k": top_k,
            "repeat_penalty": repeat_penalty,
        }
        body = fields(named, kwargs)
        if body.get("stream") is True:
            return await self._transport.stream("POST", "/v1/chat/completions", body)
        return _read.chat(await self._transport.send("POST", "/v1/chat/completions", body))


class AsyncEmbeddingsClientAPI:
    """Embeddings, `/v1/embeddings`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        input: str | list[str],
        model: str = "text-embedding-ada-002",
        encoding_format: str = "float",
        dimensions: int | None = None,
    ) -> EmbeddingsResponse:
        """Embeds texts.

        Args:
            input: One text or several.
            model: Id of the model. A server with a single model ignores it.
            encoding_format: "float", or "base64", which the client decodes.
            dimensions: Length of the vectors; None: the model's.

        Returns:
            One vector per text, in the order of the texts.

        Raises:
            ApiError: The server refused the request or failed.
        """
        named = {"input": listed(input), "model": model, "encoding_format": encoding_format}
        body = fields({**named, "dimensions": dimensions}, {})
        return _read.embeddings(await self._transport.send("POST", "/v1/embeddings", body))


class AsyncModelsClientAPI:
    """Models of the server, `/v1/models`, `/models/load` and `/models/unload`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> list[ModelInfo]:
        """Returns the models of the server."""
        return _read.models(await self._transport.send("GET", "/v1/models"))

    async def load(self, model: str) -> bool:
        """Loads a model, on a server with several.

        Args:
            model: Id of the model.

        Returns:
            True if the server accepted the request.

        Raises:
            ApiError: The model is unknown or loaded already, or the server has a single model.
        """
        return _read.success(await self._transport.send("POST", "/models/load", {"model": model}))

    async def unload(self, model: str) -> bool:
        """Unloads a model, on a server with several. Arguments and errors are those of `load()`."""
        return _read.success(await self._transport.send("POST", "/models/unload", {"model": model}))


class AsyncSlotsClientAPI:
    """Slots, `/slots`: the places in which the server decodes, each with a KV cache."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, fail_on_no_slot: bool = False) -> builtins.list[SlotInfo]:
        """Returns the state of every slot.

        Args:
            fail_on_no_slot: True raises `ApiError` with status 503 if no slot is idle.
        """
        query = "?fail_on_no_slot=1" if fail_on_no_slot else ""
        return _read.slots(await self._transport.send("GET", f"/slots{query}"))

    async def save(self, slot_id: int, filename: str) -> dict[str, Any]:
        """Writes the KV cache of a slot to a file in the server's folder for slots.

        Args:
            slot_id: Number of the slot.
            filename: Name of the file, without a path.

        Returns:
            `id_slot`, `filename`, `n_saved` (tokens), `n_written` (bytes), `timings`.

        Raises:
            ApiError: The name is not a plain file name, or the server has no folder for slots.
            ArgumentError: `slot_id` is not an integer, 0 or more.
        """
        body = {"filename": filename}
        return _read.mapping(await self._transport.send("POST", slot_path(slot_id, "save"), body))

    async def restore(self, slot_id: int, filename: str) -> dict[str, Any]:
        """Reads the KV cache of a slot from a file. Arguments and errors are those of `save()`.

        Returns:
            `id_slot`, `filename`, `n_restored` (tokens), `n_read` (bytes), `timings`.
        """
        body = {"filename": filename}
        return _read.mapping(await self._transport.send("POST", slot_path(slot_id, "restore"), body))

    async def erase(self, slot_id: int) -> dict[str, Any]:
        """Empties the KV cache of a slot.

        Args:
            slot_id: Number of the slot.

        Returns:
            `id_slot`, `n_erased` (tokens).
        """
        return _read.mapping(await self._transport.send("POST", slot_path(slot_id, "erase")))


class AsyncLoraClientAPI:
    """LoRA adapters, `/lora-adapters`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> builtins.list[LoraAdapter]:
        """Returns the loaded adapters."""
        return _read.adapters(await self._transport.send("GET", "/lora-adapters"))

    async def set_scales(self, adapters: builtins.list[dict[str, Any]]) -> bool:
        """Sets the scales of adapters. An adapter that is not listed gets scale 0.

        Args:
            adapters: Dicts of `id` and `scale`.

        Returns:
            True if the server accepted the scales.

        Raises:
            ApiError: The server has no adapter of an id; no scale changes.
        """
        return _read.success(await self._transport.send("POST", "/lora-adapters", adapters))
