"""Part of `Llama`: the same calls for asyncio. They wait for each other, and never hold the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .answers import Json
from .asking import read_keywords
from .base import Message
from .chat import Chats, chat_fields
from .errors import ValidationError
from .text import Generates, Prompt, Stop, _flag
from .tokens import Describes

if TYPE_CHECKING:
    from ._loop import AsyncStream, LoopTurns
    from .sampling import SamplingParams


class Asynchronous(Generates, Chats, Describes):
    """Part of `Llama`: the same calls for asyncio.

    Cancelling a task cancels the request that it awaits. Streams are asynchronous iterators, which hold the
    turn until they end; `aclose()` ends one early.
    """

    _loops: LoopTurns | None = None  # made when first used, since importing asyncio takes long

    async def generate_async(
        self,
        prompt: Prompt,
        max_tokens: int = 128,
        sampling: SamplingParams | None = None,
        stop: Stop = None,
        echo: bool = False,
        logprobs: int | None = None,
        stream: bool = False,
        seed: int | None = None,
        reset_kv_cache: bool = True,
    ) -> str | Json | AsyncStream[str]:
        """Continues a text, as `generate()` does. With `stream`, returns an asynchronous iterator."""
        if not _flag("stream", stream):
            return await self._turns_of_loop().whole(
                lambda thread: self._text(
                    prompt, max_tokens, sampling, stop, echo, logprobs, seed, reset_kv_cache, thread
                )
            )
        if logprobs is not None:
            raise ValidationError("invalid logprobs with stream=True: pass stream=False, or no logprobs")
        return await self._turns_of_loop().stream(
            lambda thread: self._text_stream(
                prompt, max_tokens, sampling, stop, echo, seed, reset_kv_cache, thread
            )
        )

    async def create_chat_completion_async(
        self,
        messages: Sequence[Message],
        max_tokens: int | None = 128,
        stream: bool = False,
        stop: Stop = None,
        response_format: Mapping[str, Any] | None = None,
        grammar: Any = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        reset_kv_cache: bool = True,
        **kwargs: Any,
    ) -> Json | AsyncStream[Json]:
        """Answers a chat, as `create_chat_completion()` does. With `stream`: an asynchronous iterator."""
        words = read_keywords(self.sampling, kwargs)
        fields = chat_fields(max_tokens, response_format, grammar, tools, tool_choice)
        if not _flag("stream", stream):
            return await self._turns_of_loop().whole(
                lambda thread: self._chat(messages, fields, words, stop, reset_kv_cache, thread)
            )
        return await self._turns_of_loop().stream(
            lambda thread: self._chat_stream(messages, fields, words, stop, reset_kv_cache, thread)
        )

    async def create_embedding_async(self, input: str | list[str], model: str | None = None) -> Json:
        """Returns the embeddings of texts, as `create_embedding()` does."""
        return await self._turns_of_loop().call(lambda: self.create_embedding(input, model))

    async def embed_async(self, text: str | list[str]) -> list[float] | list[list[float]]:
        """Returns the embedding of a text, as `embed()` does."""
        return await self._turns_of_loop().call(lambda: self.embed(text))

    def _turns_of_loop(self) -> LoopTurns:
        from ._loop import LoopTurns

        self._model()
        if self._loops is None:
            self._loops = LoopTurns()
        return self._loops
