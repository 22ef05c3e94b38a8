"""What abi_check.py must refuse and must allow: it is run on these each time, before the real thing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Abi = dict[str, Any]
Change = Callable[[Abi], Any]


def put(value: Any, *path: str) -> Change:
    """Sets one entry; None removes it."""

    def change(abi: Abi) -> None:
        for step in path[:-1]:
            abi = abi[step]
        abi[path[-1]] = value
        if value is None:
            del abi[path[-1]]

    return change


def grow(name: str, size: int = 8) -> Change:
    """Appends a field of 8 bytes to a struct, whose size then grows by `size`."""

    def change(abi: Abi) -> None:
        struct = abi["structs"][name]
        struct["fields"] = [*struct["fields"], ["more", "uint64_t", struct["size"]]]
        struct["size"] += size

    return change


def rename(struct: str, old: str, new: str, type_: str | None = None) -> Change:
    """Gives a field another name, and perhaps another type, in the same place."""

    def change(abi: Abi) -> None:
        fields = abi["structs"][struct]["fields"]
        at = [name for name, _, _ in fields].index(old)
        fields[at] = [new, type_ or fields[at][1], fields[at][2]]

    return change


def swap(struct: str, first: int, second: int) -> Change:
    """Exchanges two fields."""

    def change(abi: Abi) -> None:
        fields = abi["structs"][struct]["fields"]
        fields[first], fields[second] = fields[second], fields[first]

    return change


def both(*changes: Change) -> Change:
    return lambda abi: [change(abi) for change in changes]


REFUSED: dict[str, Change] = {
    "a moved field": swap("sotto_event", 2, 3),
    "a renamed field": rename("sotto_event", "user", "owner"),
    "a field of another type": rename("sotto_event", "tokens", "tokens", "float"),
    "a reserved of another type": rename("sotto_frame_end_desc", "reserved", "scale", "float"),
    "growth in the same size": grow("sotto_event", 0),
    "another size with the same fields": put(80, "structs", "sotto_event", "size"),
    "frozen growth": grow("sotto_str"),
    "a removed struct": put(None, "structs", "sotto_event"),
    "a changed constant": put(7, "constants", "SOTTO_EVENT_REQUEST_DONE"),
    "a removed constant": put(None, "constants", "SOTTO_ERROR_BUSY"),
    "a changed prototype": put(["void"], "functions", "sotto_engine_create"),
    "a removed function": put(None, "functions", "sotto_engine_create"),
    "a changed function pointer": put(["int32_t"], "callbacks", "sotto_log_fn"),
    "a changed scalar": put("uint32_t", "scalars", "sotto_status"),
    "a backend's struct gone within a minor": put(None, "structs", "sotto_backend"),
    "a weaker promise": put(["sotto_event"], "minor"),
    "an older version": put("0.0.1", "version"),
}
ALLOWED: dict[str, Change] = {
    "nothing at all": both(),
    "an append": grow("sotto_event"),
    "a reserved put to use": rename("sotto_frame_end_desc", "reserved", "flags", "sotto_request_flags"),
    "a new function": put(["void"], "functions", "sotto_engine_new"),
    "a new constant": put(8, "constants", "SOTTO_EVENT_NEW"),
    "a backend's struct gone with a minor": both(
        put("0.99.0", "version"), put(None, "structs", "sotto_backend")
    ),
    "a game's struct gone with a major": both(put("9.0.0", "version"), put(None, "structs", "sotto_event")),
}


def wrong(abi: Abi, breaks: Callable[[Abi, Abi], list[str]]) -> list[str]:
    """What `breaks` refuses or lets through though it should not, each as a line."""
    released = copy.deepcopy(abi) | {"version": "0.1.0"}
    found = []
    for refused, changes in ((True, REFUSED), (False, ALLOWED)):
        for what, change in changes.items():
            changed = copy.deepcopy(released)
            change(changed)
            if bool(breaks(released, changed)) is not refused:
                found.append(f"abi_check {'lets through' if refused else 'refuses'} {what}")
    return found
