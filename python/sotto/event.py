"""What happened to a request."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._call import text
from ._lib import lib

_KINDS = {
    lib.SOTTO_EVENT_ACCEPTED: "accepted",
    lib.SOTTO_EVENT_PROGRESS: "progress",
    lib.SOTTO_EVENT_TEXT: "text",
    lib.SOTTO_EVENT_CHOICE_DONE: "finish",
    lib.SOTTO_EVENT_USAGE: "usage",
    lib.SOTTO_EVENT_REQUEST_DONE: "done",
    lib.SOTTO_EVENT_REASONING: "reasoning",
    lib.SOTTO_EVENT_TOOL_CALL: "tool_call",
}


class Event(NamedTuple):
    """One thing that happened to one request.

    `kind` is "accepted", "progress", "text", "reasoning", "tool_call", "finish", "usage" or, last of all,
    "done"; skip what you do not know. Owns its text.
    """

    kind: str
    request: int
    user: int
    text: str
    json: str
    status: int
    tokens: int
    progress: float
    index: int  # type: ignore[assignment]  # hides tuple.index(), which nobody misses


def read_event(told: Any) -> Event:
    """Copies a `sotto_event`."""
    return Event(
        _KINDS.get(told.kind, f"kind {told.kind}"),
        told.request,
        told.user,
        text(told.text),
        text(told.json),
        told.status,
        told.tokens,
        told.progress,
        told.index,
    )
