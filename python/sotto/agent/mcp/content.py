"""The result of an MCP tool as text for a model."""

from __future__ import annotations

import json
from typing import Any

from .schema import line


def result_text(result: Any) -> str:
    """Returns a `CallToolResult` as text: its texts, a note for other content, and its structured content.

    Structured content that the texts repeat, as the protocol recommends, stands there once.
    """
    parts = [_part(one) for one in result.content]
    structured = result.structured_content
    if structured is not None:
        wrapped = [*structured] == ["result"]  # of a function that returns no object
        repeated = structured["result"] if wrapped else structured
        values = [_value(one) for one in parts]
        if repeated in (values, *values):
            return json.dumps(repeated, ensure_ascii=False)
        parts.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(one for one in parts if one)


def _part(content: Any) -> str:
    """Returns one part: text as it is, what a model cannot read by its kind and size."""
    kind = content.type
    if kind == "text":
        return str(content.text)
    if kind in ("image", "audio"):
        return f"[{kind}: {line(content.mime_type, 100)}, {_bytes(content.data)} bytes]"
    if kind == "resource_link":
        return f"[resource: {line(content.name, 100)}, {line(str(content.uri), 300)}]"
    if kind == "resource":
        inner = content.resource
        if (text := getattr(inner, "text", None)) is not None:
            return str(text)
        about = f"{line(str(inner.uri), 300)}, {line(inner.mime_type or 'bytes', 100)}"
        return f"[resource: {about}, {_bytes(inner.blob)} bytes]"
    return f"[{line(str(kind), 40)}]"


def _bytes(base64: str) -> int:
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def _value(text: str) -> Any:
    """Returns the value of a JSON text; other text as it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
