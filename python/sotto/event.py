"""`Event`: progress, text and results of requests."""

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
    """One event of one request. The event owns its text.

    `kind` is "accepted", "progress", "text", "reasoning", "tool_call", "finish", "usage" or "done", which is
    always the last event of a request; ignore unknown kinds.
    """

    kind: str
    request: int  # id that `Engine.submit()` returned
    user: int  # number that was passed to `Engine.submit()`
    text: str
    json: str
    status: int  # negative: the request failed with this SOTTO_ERROR_ value
    tokens: int
    progress: float
    index: int  # type: ignore[assignment]  # hides tuple.index(), which events do not need


def read_event(told: Any) -> Event:
    """Returns a copy of a `sotto_event`."""
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
