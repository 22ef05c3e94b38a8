"""`Event`: progress, text and results of requests."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast

from ._call import blob, text
from ._lib import lib
from .errors import Status

EventKind = Literal[
    "accepted", "progress", "text", "reasoning", "tool_call", "data", "choice_done", "usage", "request_done"
]
FinishReason = Literal["", "stop", "length", "tool_calls", "content_filter"]

_KINDS = {
    lib.SOTTO_EVENT_ACCEPTED: "accepted",
    lib.SOTTO_EVENT_PROGRESS: "progress",
    lib.SOTTO_EVENT_TEXT: "text",
    lib.SOTTO_EVENT_CHOICE_DONE: "choice_done",
    lib.SOTTO_EVENT_USAGE: "usage",
    lib.SOTTO_EVENT_REQUEST_DONE: "request_done",
    lib.SOTTO_EVENT_REASONING: "reasoning",
    lib.SOTTO_EVENT_TOOL_CALL: "tool_call",
    lib.SOTTO_EVENT_DATA: "data",
}
_FINISHES: dict[int, FinishReason] = {
    lib.SOTTO_FINISH_NONE: "",
    lib.SOTTO_FINISH_STOP: "stop",
    lib.SOTTO_FINISH_LENGTH: "length",
    lib.SOTTO_FINISH_TOOL_CALLS: "tool_calls",
    lib.SOTTO_FINISH_CONTENT_FILTER: "content_filter",
}
_STATUSES = {int(status): status for status in Status}  # a lookup is faster than Status()


class Event(NamedTuple):
    """One event of one request. The event owns its text. Ignore unknown kinds."""

    kind: EventKind  # "request_done" is always the last event of a request
    request: int  # id that `Engine.submit()` returned
    user: int  # number that was passed to `Engine.submit()`
    text: str  # part of the answer or the reasoning, or a tool's name
    json: str  # with "request_done": the response. With "data": what it is. With `chunks`: the chunk
    status: Status  # with "request_done": the result. Negative: the request failed
    tokens: int  # tokens generated so far
    progress: float  # with "progress": 0 to 1
    index: int  # type: ignore[assignment]  # hides tuple.index(), which events do not need
    finish: FinishReason  # with "choice_done": why the answer ended
    error: str  # with "request_done": why the request failed
    data: bytes = b""  # with "data": the next part of a result that is no text


def read_event(told: Any) -> Event:
    """Returns a copy of a `sotto_event`."""
    return Event(
        cast(EventKind, _KINDS.get(told.kind) or f"kind {told.kind}"),
        told.request,
        told.user,
        text(told.text),
        text(told.json),
        _STATUSES[told.status],
        told.tokens,
        told.progress,
        told.index,
        _FINISHES.get(told.finish, ""),
        text(told.error),
        blob(told.data),
    )
