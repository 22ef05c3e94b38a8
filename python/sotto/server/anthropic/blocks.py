"""Messages and content blocks of Anthropic's API as messages of the engine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import HttpError

_CHECKSUM = re.compile(r"(?<=; cch=)\w+(?=;)")  # of a client's billing header; changes with every request


def quoted(value: object) -> str:
    """Returns a value of a request for the message of an error."""
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:100]


def invalid(path: str, value: object, expected: str) -> HttpError:
    """Returns the error for a value at a path of the request."""
    return HttpError(400, f"invalid {path} '{quoted(value)}': expected {expected}")


def object_at(path: str, value: object) -> Mapping[str, Any]:
    """Returns a value that has to be an object. Raises `HttpError` 400."""
    if not isinstance(value, Mapping):
        raise invalid(path, value, "an object")
    return value


def text_at(path: str, value: object) -> str:
    """Returns a value that has to be a text. Raises `HttpError` 400."""
    if not isinstance(value, str):
        raise invalid(path, value, "a string")
    return value


def list_at(path: str, value: object) -> Sequence[Any]:
    """Returns a value that has to be an array. Raises `HttpError` 400."""
    if not isinstance(value, list):
        raise invalid(path, value, "an array")
    return value


def system_text(system: object) -> str:
    """Returns the system message: a text, or the texts of blocks, joined.

    The checksum in a client's billing header is replaced, so that the KV cache of the system message serves
    the next request too.
    """
    if isinstance(system, str):
        text = system
    else:
        text = "".join(_text_block(f"system[{at}]", one) for at, one in enumerate(list_at("system", system)))
    return _CHECKSUM.sub("fffff", text, count=1) if text.startswith("x-anthropic-billing-header:") else text


def messages_of(given: object) -> list[dict[str, Any]]:
    """Returns the engine's messages for `messages`. Raises `HttpError` 400."""
    made: list[dict[str, Any]] = []
    for at, one in enumerate(list_at("messages", given)):
        path = f"messages[{at}]"
        message = object_at(path, one)
        role = message.get("role")
        if role not in ("user", "assistant", "system"):
            raise invalid(f"{path}.role", role, '"user" or "assistant"')
        content = message.get("content")
        if isinstance(content, str):
            made.append({"role": role, "content": content})
        elif role == "assistant":
            made += _assistant(f"{path}.content", list_at(f"{path}.content", content))
        else:
            made += _user(f"{path}.content", role, list_at(f"{path}.content", content))
    return made


def _assistant(path: str, blocks: Sequence[Any]) -> list[dict[str, Any]]:
    """Returns the message of an assistant's blocks; none for an empty list."""
    text, reasoning, calls = "", "", []
    for at, one in enumerate(blocks):
        here = f"{path}[{at}]"
        block = object_at(here, one)
        kind = block.get("type")
        if kind == "text":
            text += text_at(f"{here}.text", block.get("text"))
        elif kind == "thinking":
            reasoning += text_at(f"{here}.thinking", block.get("thinking"))
        elif kind == "tool_use":
            calls.append(_call(here, block))
        elif kind != "redacted_thinking":
            raise invalid(f"{here}.type", kind, '"text", "thinking" or "tool_use"')
    if not (text or reasoning or calls):
        return []
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return [message]


def _call(path: str, block: Mapping[str, Any]) -> dict[str, Any]:
    name = text_at(f"{path}.name", block.get("name"))
    arguments = json.dumps(object_at(f"{path}.input", block.get("input", {})), ensure_ascii=False)
    identity = text_at(f"{path}.id", block.get("id"))
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def _user(path: str, role: str, blocks: Sequence[Any]) -> list[dict[str, Any]]:
    """Returns the messages of a user's blocks: results of tools are messages of their own."""
    made: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []

    def finish() -> None:
        if parts:
            made.append({"role": role, "content": _content(parts)})
            parts.clear()

    for at, one in enumerate(blocks):
        here = f"{path}[{at}]"
        block = object_at(here, one)
        if block.get("type") == "tool_result":
            finish()
            made.append(_result(here, block))
        else:
            parts.append(_part(here, block))
    finish()
    return made


def _result(path: str, block: Mapping[str, Any]) -> dict[str, Any]:
    identity = text_at(f"{path}.tool_use_id", block.get("tool_use_id"))
    content = block.get("content")
    if content is None:
        content = ""
    elif not isinstance(content, str):
        here = f"{path}.content"
        content = _content(
            [_part(f"{here}[{at}]", object_at(here, one)) for at, one in enumerate(list_at(here, content))]
        )
    return {"role": "tool", "tool_call_id": identity, "content": content}


def _content(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Returns parts as content: a text if they are texts alone, because every chat template reads that."""
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return list(parts)


def _part(path: str, block: Mapping[str, Any]) -> dict[str, Any]:
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _PARTS:
        raise invalid(f"{path}.type", kind, '"text", "image", "document" or "tool_result"')
    return _PARTS[kind](path, block)


def _text(path: str, block: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": text_at(f"{path}.text", block.get("text"))}


def _image(path: str, block: Mapping[str, Any]) -> dict[str, Any]:
    source = object_at(f"{path}.source", block.get("source"))
    if source.get("type") != "base64":
        expected = '"base64"; this server fetches no files'
        raise invalid(f"{path}.source.type", source.get("type"), expected)
    media = text_at(f"{path}.source.media_type", source.get("media_type", "image/jpeg"))
    data = text_at(f"{path}.source.data", source.get("data"))
    return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{data}"}}


def _document(path: str, block: Mapping[str, Any]) -> dict[str, Any]:
    source = object_at(f"{path}.source", block.get("source"))
    if source.get("type") != "text":
        raise invalid(f"{path}.source.type", source.get("type"), '"text": other documents are not read')
    title = block.get("title")
    text = text_at(f"{path}.source.data", source.get("data"))
    return {"type": "text", "text": f"{title}\n{text}" if isinstance(title, str) else text}


_PARTS: Mapping[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
    "text": _text,
    "image": _image,
    "document": _document,
}


def _text_block(path: str, one: object) -> str:
    block = object_at(path, one)
    if block.get("type") != "text":
        raise invalid(f"{path}.type", block.get("type"), '"text"')
    return text_at(f"{path}.text", block.get("text"))
