"""Answers in the form of Anthropic's Messages API: whole messages, and the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import HttpError
from ..logs import request_id
from ..shapes import Shape

_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "timeout_error",
    413: "request_too_large",
    415: "invalid_request_error",
    429: "rate_limit_error",
    501: "invalid_request_error",
    503: "overloaded_error",
}


class Messages(Shape):
    """The form of answers that are whole, and of errors."""

    def whole(self, told: str) -> str:
        """Returns the message for a chat completion of the engine."""
        completion = json.loads(told)
        choice = completion["choices"][0]
        made = _message(completion["id"], completion["model"])
        made["content"] = _blocks(choice["message"])
        made.update(_stop(choice))
        made["usage"] = _usage(completion["usage"])
        return json.dumps(made, ensure_ascii=False)

    def error(self, error: HttpError) -> dict[str, Any]:
        """Returns the body of an error."""
        kind = _ERRORS.get(error.status, "api_error")
        told = {"type": kind, "message": error.message, **error.more}
        return {"type": "error", "error": told, "request_id": request_id()}

    def broken(self, error: HttpError) -> str:
        """Returns an event of type `error`."""
        return _event(self.error(error))

    def ping(self) -> str:
        """Returns an event of type `ping`."""
        return _event({"type": "ping"})


class MessageStream(Messages):
    """The events of one stream: of the message, and of its blocks, one after the other.

    Attributes:
        input_tokens: Length of the prompt, which the first event states; the last one has the exact usage.
    """

    def __init__(self) -> None:
        self.input_tokens = 0
        self._began = False
        self._index = -1  # of the block that is open, or was the last
        self._open: str | None = None  # what the block is: its type, with the number of a tool call
        self._stopped: dict[str, Any] = {"stop_reason": None, "stop_sequence": None}
        self._usage: dict[str, Any] = {"output_tokens": 0}

    def chunk(self, told: str) -> str:
        """Returns the events for a chunk of a chat."""
        chunk = json.loads(told)
        events = []
        if not self._began:
            self._began = True
            events.append(self._start(chunk))
        for choice in chunk["choices"]:
            events += self._delta(choice.get("delta", {}))
            if choice.get("finish_reason"):
                self._stopped = _stop(choice)
        if replacement := chunk.get("sotto", {}).get("replacement"):  # a guardrail withdrew the answer
            events += self._part("replacement", _text_block(""), {"type": "text_delta", "text": replacement})
        if chunk.get("usage"):
            self._usage = _usage(chunk["usage"])
        return "".join(map(_event, events))

    def end(self) -> str:
        """Returns the events that end the message."""
        delta = {"type": "message_delta", "delta": self._stopped, "usage": self._usage}
        return "".join(map(_event, [*self._close(), delta, {"type": "message_stop"}]))

    def _start(self, chunk: Mapping[str, Any]) -> dict[str, Any]:
        message = _message(chunk["id"], chunk["model"])
        message["usage"] = {
            "input_tokens": self.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        }
        return {"type": "message_start", "message": message}

    def _delta(self, delta: Mapping[str, Any]) -> list[dict[str, Any]]:
        events = []
        if text := delta.get("reasoning_content"):
            thought = {"type": "thinking", "thinking": "", "signature": ""}
            events += self._part("thinking", thought, {"type": "thinking_delta", "thinking": text})
        if text := delta.get("content"):
            events += self._part("text", _text_block(""), {"type": "text_delta", "text": text})
        for call in delta.get("tool_calls", ()):
            function = call.get("function", {})
            block: dict[str, Any] = {
                "type": "tool_use",
                "id": call.get("id"),
                "name": function.get("name"),
                "input": {},
            }
            said = {"type": "input_json_delta", "partial_json": function.get("arguments", "")}
            events += self._part(f"tool_use {call['index']}", block, said)
        return events

    def _part(self, what: str, block: dict[str, Any], delta: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the events for a part of a block; closes the block before it and opens its own."""
        events = []
        if self._open != what:
            events += self._close()
            self._open = what
            self._index += 1
            events.append({"type": "content_block_start", "index": self._index, "content_block": block})
        events.append({"type": "content_block_delta", "index": self._index, "delta": delta})
        return events

    def _close(self) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        if self._open == "thinking":  # which clients expect to be signed
            delta = {"type": "signature_delta", "signature": ""}
            events.append({"type": "content_block_delta", "index": self._index, "delta": delta})
        if self._open is not None:
            events.append({"type": "content_block_stop", "index": self._index})
            self._open = None
        return events


def _message(identity: str, model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{identity.rpartition('-')[2]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reasoning := message.get("reasoning_content"):
        blocks.append({"type": "thinking", "thinking": reasoning, "signature": ""})
    calls = message.get("tool_calls") or ()
    if (text := message.get("content")) or not (blocks or calls):
        blocks.append(_text_block(text or ""))
    for call in calls:
        function = call["function"]
        blocks.append(
            {
                "type": "tool_use",
                "id": call["id"],
                "name": function["name"],
                "input": _input(function["arguments"]),
            }
        )
    return blocks


def _input(arguments: str) -> dict[str, Any]:
    """Returns the arguments of a call; empty if `max_tokens` cut them off."""
    try:
        found = json.loads(arguments)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _stop(choice: Mapping[str, Any]) -> dict[str, Any]:
    word = choice.get("stopping_word") or None
    if word is not None and choice["finish_reason"] == "stop":
        return {"stop_reason": "stop_sequence", "stop_sequence": word}
    return {"stop_reason": _STOP_REASONS.get(choice["finish_reason"], "end_turn"), "stop_sequence": None}


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    return {
        "input_tokens": usage["prompt_tokens"] - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": usage["completion_tokens"],
    }


def _event(event: Mapping[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
