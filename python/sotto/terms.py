"""On what terms an answer is asked for: at what pace, who comes first, and by when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from ._lib import lib
from ._values import choice, number

PRIORITIES: Mapping[str, int] = {
    "foreground": lib.SOTTO_PRIORITY_FOREGROUND,
    "normal": lib.SOTTO_PRIORITY_NORMAL,
    "background": lib.SOTTO_PRIORITY_BACKGROUND,
}
_LATEST_NS = (1 << 63) - 1


class RequestOptions(TypedDict, total=False):
    """What every call that asks for an answer takes by name; each has a default.

    `target_tps`: tokens per second to pace to. 0, the default: the engine's.

    `priority`: who is served first. "foreground" is whom the player speaks with: it gets the next slice and,
    if need be, the place of one that matters less, which goes on later where it was. "background" is what
    nobody waits for. "normal" is the default. Who waits long rises.

    `deadline`: when the answer shall have begun, a moment of `time.monotonic()`: half a second from now is
    `time.monotonic() + 0.5`. Of two that matter as much, the earlier one is served first; nothing happens to
    one that misses it. 0, the default: none.
    """

    target_tps: float
    priority: str
    deadline: float


def terms(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `given` as fields of a `sotto_request_desc`. Raises `TypeError` for a name that is unknown."""
    for name in given:
        if name not in RequestOptions.__annotations__:
            known = ", ".join(RequestOptions.__annotations__)
            raise TypeError(f"invalid argument '{name}': expected {known}; fields of the request go into it")
    return {
        "target_tps": number("target_tps", given.get("target_tps", 0)),
        "priority": choice("priority", given.get("priority", "normal"), PRIORITIES),
        "deadline_ns": min(int(number("deadline", given.get("deadline", 0)) * 1e9), _LATEST_NS),
    }
