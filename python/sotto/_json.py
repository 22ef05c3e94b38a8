"""Writes and reads the JSON of requests. Accepts any mapping or sequence; errors name the field."""

from __future__ import annotations

import math
import operator
import os
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._values import invalid
from .errors import ArgumentError

_SCALARS = (str, int, float, bool, type(None))
_MAX_DEPTH = 256  # maximum nesting of a value


def dump(name: str, value: Mapping[str, Any]) -> str:
    """Returns `value` as JSON. Raises `TypeError` or `ArgumentError` that names the field under `name`."""
    import json

    try:
        text = json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        for error in _faults(name, value, 0):
            raise error from None
        raise
    if "\\ud" in text:  # a pair of surrogates, or one alone
        for error in _faults(name, value, 0):
            raise error
    return text


def load(text: str) -> Any:
    """Returns the value of the JSON `text`; None if it is invalid, which the library then reports."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    """Converts `value` to a JSON type. Raises `TypeError` if it has no equivalent."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    try:
        return operator.index(value)
    except TypeError:
        pass
    if hasattr(value, "__float__"):
        return float(value)
    raise TypeError(type(value).__name__)


def _faults(name: str, value: Any, depth: int) -> Iterator[Exception]:
    """Yields an error, with the path of the field, for each part of a value that JSON cannot represent."""
    if depth > _MAX_DEPTH:
        yield ArgumentError(f"invalid {name}: expected at most {_MAX_DEPTH} levels of nesting; flatten it")
        return
    if not isinstance(value, (*_SCALARS, dict, list, tuple)):
        try:
            value = _plain(value)
        except (TypeError, ValueError):
            kind = type(value).__name__
            yield TypeError(
                f"invalid {name} '{reprlib.repr(value)}': expected a JSON type, not {kind}; convert it"
            )
            return
    if isinstance(value, str):
        yield from _lone_surrogates(name, value)
    elif isinstance(value, float) and not math.isfinite(value):
        yield ArgumentError(f"invalid {name} '{value}': expected a finite number; JSON has no other")
    elif isinstance(value, dict):
        for key, one in value.items():
            if not isinstance(key, _SCALARS) or (isinstance(key, float) and not math.isfinite(key)):
                yield TypeError(
                    f"invalid key '{reprlib.repr(key)}' of {name}: expected a str; JSON has no other"
                )
            yield from _lone_surrogates(f"key of {name}", str(key))
            yield from _faults(f"{name}.{key}", one, depth + 1)
    elif isinstance(value, (list, tuple)):
        for at, one in enumerate(value):
            yield from _faults(f"{name}[{at}]", one, depth + 1)


def _lone_surrogates(name: str, text: str) -> Iterator[Exception]:
    """Yields an error if `text` is not Unicode text."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        yield ArgumentError(invalid(name, text, f"Unicode text; {error.reason} at {error.start}"))
