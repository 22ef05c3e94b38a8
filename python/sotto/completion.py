"""Answers as Python objects: `Engine.chat()`, `Engine.complete()` and `Engine.stream()`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ._asking import Asks
from ._handle import Unique
from ._json import load
from ._lib import lib
from ._ops import Op
from ._values import string, wrong_type
from .errors import ArgumentError
from .event import FinishReason
from .messages import MessagesInput, PromptInput, as_messages
from .stream import TokenStream
from .terms import RequestOptions

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Usage(NamedTuple):
    """Token counts of one answer."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0  # of prompt_tokens: reused from the prefix cache


class ToolCall(NamedTuple):
    """A call of a tool. `arguments` is the parsed JSON object."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""


class Completion(NamedTuple):
    """A whole answer.

    `finish_reason` is "stop", "length" (`max_tokens` or the context cut the answer), "tool_calls" or
    "content_filter" (a guardrail blocked the rest).
    `reasoning` is text that the model generated before its answer. `raw` is the OpenAI response. `tokens` has
    the ids of the answer's tokens, if the request sets `return_tokens`.
    """

    text: str
    finish_reason: FinishReason
    usage: Usage
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    raw: Mapping[str, Any] = _NOTHING
    tokens: tuple[int, ...] = ()


class Delta(NamedTuple):
    """The next part of an answer; `finish_reason` is None until the last one.

    `raw` is the OpenAI chunk, which also holds tool calls while they are generated. `replacement` is the text
    that takes the place of the whole answer, if guardrails withdrew it after it was streamed; else None.
    """

    text: str = ""
    reasoning: str = ""
    finish_reason: str | None = None
    raw: Mapping[str, Any] = _NOTHING
    replacement: str | None = None


class DeltaStream(Unique):
    """Iterates over the `Delta`s of an answer. Closing the stream, or dropping it, cancels the rest.

    >>> with engine.stream("Who are you?", max_tokens=64) as answer:
    ...     for delta in answer:
    ...         print(delta.text, end="", flush=True)
    """

    def __init__(self, chunks: TokenStream) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[Delta]:
        return self

    def __next__(self) -> Delta:
        return read_delta(next(self._chunks))

    def set_target_tps(self, tps: float) -> bool:
        """Sets the pace in tokens per second from the next token on; 0: the engine's.

        Returns:
            False if the answer has ended.
        """
        return self._chunks.set_target_tps(tps)

    def __enter__(self) -> DeltaStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancels the rest of the answer. A second call does nothing."""
        self._chunks.close()


class Completes(Asks):
    """Part of `Engine`: answers as Python objects."""

    def chat(self, messages: MessagesInput, *, model: str | None = None, **fields: Any) -> Completion:
        """Answers messages, and waits for the whole answer.

        Args:
            messages: The user's text, one OpenAI message, or several.
            model: Id of a loaded model; None: the only one that is loaded.
            **fields: Fields of an OpenAI chat request (`max_tokens`, `temperature`, `tools`, ...), and
                `priority`, `deadline` and `target_tps` as in `RequestOptions`.

        Returns:
            The answer.

        Raises:
            ArgumentError: A field is misspelt or out of range, or `model` is None and not exactly one model
                is loaded.
            InferenceError: The model failed.
        """
        body, options = self._chat_body(messages, model, fields)
        return read_completion(self._ask("chat", body, options).finish().json)

    def stream(self, messages: MessagesInput, *, model: str | None = None, **fields: Any) -> DeltaStream:
        """Answers messages, part by part. Arguments and errors are those of `chat()`."""
        body, options = self._chat_body(messages, model, fields)
        return DeltaStream(TokenStream(self._ask("chat", body, options, lib.SOTTO_REQUEST_CHUNKS)))

    def complete(self, prompt: PromptInput, *, model: str | None = None, **fields: Any) -> Completion:
        """Continues a text, without a chat template. Other arguments and errors are those of `chat()`.

        `prompt` may also be a list of tokens, or a list of content parts as a message's `content` has them,
        for models that see or hear.
        """
        body, options = self._text_body(prompt, model, fields)
        return read_completion(self._ask("completion", body, options).finish().json)

    def _chat_body(
        self, messages: MessagesInput, model: str | None, fields: Mapping[str, Any]
    ) -> tuple[dict[str, Any], RequestOptions]:
        return self._with_model("chat", model, fields, messages=as_messages("messages", messages, "user"))

    def _text_body(
        self, prompt: PromptInput, model: str | None, fields: Mapping[str, Any]
    ) -> tuple[dict[str, Any], RequestOptions]:
        if isinstance(prompt, str):
            string("prompt", prompt)
        elif not isinstance(prompt, list | tuple):
            raise wrong_type("prompt", prompt, "a str, or a list of tokens or of content parts")
        return self._with_model("completion", model, fields, prompt=prompt)

    def _with_model(
        self, op: Op, model: str | None, fields: Mapping[str, Any], **more: Any
    ) -> tuple[dict[str, Any], RequestOptions]:
        """Returns the body and options of a request for `op`."""
        options = RequestOptions(**{name: fields[name] for name in _OPTIONS if name in fields})  # type: ignore[typeddict-item]
        body = {name: value for name, value in fields.items() if name not in _OPTIONS}
        if "session" not in body or model is not None:
            body["model"] = self._only_model(op) if model is None else string("model", model)
        return {**body, **more}, options

    def _only_model(self, op: Op) -> str:
        """Returns the only loaded model that performs `op`; if none does, the only one that is loaded."""
        loaded = self._models(op) or self._models()
        if len(loaded) == 1:
            return loaded[0]
        which = ", ".join(f"'{name}'" for name in loaded) or "none"
        raise ArgumentError(f"invalid model 'None': expected the id of one of the loaded models ({which})")

    def _resolve(self, model: str | None) -> str | None:
        """Returns `model`, or else the only loaded model that chats; None if there is not exactly one."""
        loaded = self._models("chat") if model is None else [model]
        return loaded[0] if len(loaded) == 1 else None

    def _models(self, op: Op | None = None) -> list[str]:
        """Returns the ids of the loaded models that perform `op`, or of all."""
        listed = load(self._json(lib.sotto_engine_list_models))
        return [one["id"] for one in listed if op is None or op in one["operations"]]


_OPTIONS = frozenset(RequestOptions.__annotations__)


def read_completion(response: str) -> Completion:
    """Reads an OpenAI chat or text completion."""
    raw = load(response)
    choice = raw["choices"][0]
    message = choice.get("message", {"content": choice.get("text")})
    return Completion(
        message.get("content") or "",
        choice.get("finish_reason") or "",
        _usage(raw.get("usage") or {}),
        message.get("reasoning_content") or "",
        tuple(map(_tool_call, message.get("tool_calls") or ())),
        raw,
        tuple(choice.get("tokens") or ()),
    )


def read_delta(chunk: str) -> Delta:
    """Reads an OpenAI chunk."""
    raw = load(chunk)
    choice: Mapping[str, Any] = next(iter(raw["choices"]), {})
    delta = choice.get("delta") or {"content": choice.get("text")}
    return Delta(
        delta.get("content") or "",
        delta.get("reasoning_content") or "",
        choice.get("finish_reason"),
        raw,
        (raw.get("sotto") or {}).get("replacement"),
    )


def _usage(told: Mapping[str, Any]) -> Usage:
    cached = (told.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return Usage(told.get("prompt_tokens", 0), told.get("completion_tokens", 0), cached)


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(function["name"], load(function["arguments"] or "{}"), call.get("id", ""))
