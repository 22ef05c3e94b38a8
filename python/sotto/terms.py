"""`RequestOptions`: pace, priority and deadline of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from ._lib import lib
from ._values import choice, number

Priority = Literal["foreground", "normal", "background"]

PRIORITIES: Mapping[str, int] = {
    "foreground": lib.SOTTO_PRIORITY_FOREGROUND,
    "normal": lib.SOTTO_PRIORITY_NORMAL,
    "background": lib.SOTTO_PRIORITY_BACKGROUND,
}
_LATEST_NS = (1 << 63) - 1


class RequestOptions(TypedDict, total=False):
    """Keyword arguments of every call that requests an answer. All are optional.

    `target_tps`: Pace in tokens per second. 0, the default: the engine's pace.

    `priority`: Scheduling priority. "foreground" (the character that the player speaks with) gets the next
    slice; if no slot is free, it preempts a stream of lower priority, which resumes later where it stopped.
    "normal" is the default. "background" is work that no player waits for. The scheduler prefers a request
    that has waited long over others, so that low priorities do not starve.

    `deadline`: Latest start of the answer, a time of `time.monotonic()`: half a second from now is
    `time.monotonic() + 0.5`. Within a priority, the earliest deadline is served first. A missed deadline has
    no consequence. 0, the default: no deadline.
    """

    target_tps: float
    priority: Priority
    deadline: float


def terms(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `given` as fields of a `sotto_request_desc`. Raises `TypeError` for an unknown name."""
    for name in given:
        if name not in RequestOptions.__annotations__:
            known = ", ".join(RequestOptions.__annotations__)
            raise TypeError(
                f"invalid argument '{name}': expected {known}; fields of the request go into the argument "
                f"request: {{'{name}': ...}}"
            )
    return {
        "target_tps": number("target_tps", given.get("target_tps", 0)),
        "priority": choice("priority", given.get("priority", "normal"), PRIORITIES),
        "deadline_ns": min(int(number("deadline", given.get("deadline", 0)) * 1e9), _LATEST_NS),
    }
