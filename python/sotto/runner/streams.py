"""`ChatStream` and `ActingStream`: streamed answers of a `Runner`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from .._handle import Unique
from .._json import load
from ..completion import Delta
from ..stream import TokenStream
from . import shaping
from .acting import Acting
from .errors import translated
from .responses import ChatCompletionChunkResponse, ChunkChoice
from .responses import Delta as ChunkDelta
from .sessions import Message

Json = dict[str, Any]
Ended = Callable[[list[Message] | None], None]  # gets the messages that the answer adds; None: it failed


class ChunkStream(Unique):
    """Iterates over the chunks of an answer. Closing it, or deleting it, cancels the rest.

    >>> with runner.send_chat_completion_request(request) as chunks:
    ...     for chunk in chunks:
    ...         print(chunk.choices[0].delta.content or "", end="", flush=True)
    """

    def __iter__(self) -> ChunkStream:
        return self

    def __next__(self) -> ChatCompletionChunkResponse:
        raise NotImplementedError

    def __enter__(self) -> ChunkStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancels the rest of the answer. A second call does nothing."""
        raise NotImplementedError


class ChatStream(ChunkStream):
    """The chunks of an answer whose tools the caller executes.

    Args:
        chunks: The engine's chunks.
        model: Name of the model.
        session_id: Session of the chat; None: none.
        ended: Called once at the end, with the message of the answer.
    """

    def __init__(self, chunks: TokenStream, model: str, session_id: str | None, ended: Ended) -> None:
        self._chunks = chunks
        self._model = model
        self._session_id = session_id
        self._ended: Ended | None = ended
        self._held: Json | None = None  # the chunk with the finish reason waits for the usage
        self._message: Json = {"role": "assistant", "content": ""}
        self._calls: dict[int, dict[int, Json]] = {}  # by choice and call

    def __next__(self) -> ChatCompletionChunkResponse:
        try:
            with translated():
                return self._next()
        except StopIteration:
            self._end([self._said()])
            raise
        except BaseException:
            self.close()
            raise

    def _next(self) -> ChatCompletionChunkResponse:
        for text in self._chunks:
            chunk: Json = load(text)
            if not chunk["choices"]:
                if self._held is not None and "usage" in chunk:
                    return self._last({**self._held, "usage": chunk["usage"]})
                continue
            choice = chunk["choices"][0]
            self._merge(choice)
            if choice.get("finish_reason"):
                held, self._held = self._held, chunk
                if held is not None:
                    return self._shaped(held)
                continue
            if _has_content(choice):
                return self._shaped(chunk)
        if self._held is not None:
            return self._last(self._held)
        raise StopIteration

    def _last(self, chunk: Json) -> ChatCompletionChunkResponse:
        self._held = None
        usage = shaping.usage_of(chunk) if "usage" in chunk else None
        return self._shaped(chunk, usage, self._session_id)

    def _shaped(
        self, chunk: Json, usage: Any = None, session_id: str | None = None
    ) -> ChatCompletionChunkResponse:
        """Returns a chunk, with the whole calls of a choice in the one that ends it."""
        choice = dict(chunk["choices"][0])
        delta = {**(choice.get("delta") or {"content": choice.get("text")})}
        delta.pop("tool_calls", None)
        if choice.get("finish_reason"):
            calls = self._calls.get(choice["index"], {})
            delta["tool_calls"] = [calls[at] for at in sorted(calls)]
            delta["content"] = delta.get("content") or (None if calls else "")
        choice["delta"] = delta
        return shaping.chunk_response({**chunk, "choices": [choice]}, self._model, usage, session_id)

    def _merge(self, choice: Json) -> None:
        """Adds a part to the message of the first choice, and to the calls."""
        delta = choice.get("delta") or {"content": choice.get("text")}
        if choice["index"] == 0:
            self._message["content"] += delta.get("content") or ""
        for one in delta.get("tool_calls") or ():
            calls = self._calls.setdefault(choice["index"], {})
            made = calls.setdefault(one["index"], {"index": one["index"], "id": "", "function": {}})
            made["id"] = one.get("id") or made["id"]
            for name, text in (one.get("function") or {}).items():
                made["function"][name] = made["function"].get(name, "") + (text or "")

    def _said(self) -> Json:
        calls = self._calls.get(0)
        if not calls:
            return self._message
        whole = [
            {"id": calls[at]["id"], "type": "function", "function": calls[at]["function"]}
            for at in sorted(calls)
        ]
        return {**self._message, "content": self._message["content"] or None, "tool_calls": whole}

    def _end(self, messages: list[Message] | None) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(messages)

    def close(self) -> None:
        """Cancels the rest of the answer. A second call does nothing."""
        self._chunks.close()
        self._end(None)

    def __del__(self) -> None:
        if getattr(self, "_ended", None) is not None:
            self._end(None)


class ActingStream(ChunkStream):
    """The chunks of an answer whose tools the runner executes. The last one has the usage.

    Args:
        acting: The chat in progress.
        model: Name of the model.
        session_id: Session of the chat.
        ended: Called once at the end, with all messages of the session.
    """

    def __init__(self, acting: Acting, model: str, session_id: str, ended: Ended) -> None:
        self._acting = acting
        self._model = model
        self._session_id = session_id
        self._ended: Ended | None = ended
        self._head: Json = {"id": "", "created": int(time.time()), "system_fingerprint": ""}
        self._done = False

    def __next__(self) -> ChatCompletionChunkResponse:
        if self._done:
            raise StopIteration
        try:
            with translated():
                for delta in self._acting:
                    self._head = {name: delta.raw.get(name, self._head[name]) for name in self._head}
                    if delta.text or delta.reasoning:
                        return self._chunk(delta.text or None, delta.reasoning or None, _logprob(delta))
                return self._last()
        except BaseException:
            self.close()
            raise

    def _last(self) -> ChatCompletionChunkResponse:
        self._done = True
        answer = self._acting.answer
        self._end(self._acting.messages)
        counts = answer.usage
        usage = shaping.usage(counts.prompt_tokens, counts.completion_tokens, *self._acting.seconds)
        return self._chunk("", None, None, answer.finish_reason or "stop", usage)

    def _chunk(
        self,
        text: str | None,
        reasoning: str | None,
        logprob: Any,
        reason: str | None = None,
        usage: Any = None,
    ) -> ChatCompletionChunkResponse:
        choice = ChunkChoice(reason, 0, ChunkDelta(text, "assistant", None, reasoning), logprob)
        return ChatCompletionChunkResponse(
            self._head["id"],
            [choice],
            self._head["created"],
            self._model,
            self._head["system_fingerprint"],
            "chat.completion.chunk",
            usage,
            self._session_id if usage is not None else None,
        )

    def _end(self, messages: list[Message] | None) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(messages)

    def close(self) -> None:
        """Cancels the rest of the answer and its running tools. A second call does nothing."""
        self._done = True
        self._acting.close()
        self._end(None)

    def __del__(self) -> None:
        if getattr(self, "_ended", None) is not None:
            self._end(None)


def _has_content(choice: Json) -> bool:
    delta = choice.get("delta") or {"content": choice.get("text")}
    return bool(delta.get("content") or delta.get("reasoning_content") or choice.get("logprobs"))


def _logprob(delta: Delta) -> Any:
    choices: Sequence[Any] = delta.raw.get("choices") or ({},)
    found = shaping.entries(choices[0]) or ()
    return shaping.entry(found[0]) if found else None
