"""The form of the fleet's tokens: `ik_sdk_` for the control plane, `ik_live_` for the data plane.

A token is its kind, 8 hexadecimal digits that identify it, and a secret of 64 hexadecimal digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

SDK, LIVE = "ik_sdk_", "ik_live_"
_TOKEN = re.compile(r"(ik_sdk_|ik_live_)([0-9a-f]{8})_([0-9a-f]{64})")
_ANYWHERE = re.compile(r"(ik_(?:sdk|live)_)([0-9A-Za-z]{0,8})[0-9A-Za-z_]*")
_SECRET = re.compile(r"ik_(?:sdk|live)_[0-9A-Za-z]")
_MAX_DEPTH = 32


def split(token: str) -> tuple[str, str, str] | None:
    """Returns the kind, the id and the secret of a token; None if it is none."""
    found = _TOKEN.fullmatch(token)
    return None if found is None else (found[1], found[2], found[3])


def redacted(text: str) -> str:
    """Returns a text in which each token is cut after its id: `ik_sdk_0123abcd…`."""
    return _ANYWHERE.sub(lambda found: f"{found[1]}{found[2]}…", text)


def secret_in(value: Any, path: str = "", depth: int = 0) -> str | None:
    """Returns the path of the first string in a JSON value that holds a token, or None."""
    if isinstance(value, str):
        return path if _SECRET.search(value) else None
    if depth > _MAX_DEPTH:
        return None
    for name, one in _members(value):
        if isinstance(name, str) and _SECRET.search(name):
            return f"a key of '{path}'" if path else "a key"
        found = secret_in(one, f"{path}.{name}" if path else str(name), depth + 1)
        if found is not None:
            return found
    return None


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
