"""Checks arguments before native calls. Errors name the parameter, its value and the expected values.

A wrong type raises `TypeError`, a value out of range `ArgumentError`.
"""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Mapping
from typing import Any

from .errors import ArgumentError


def invalid(name: str, value: object, expected: str) -> str:
    """Returns the text of every error about an argument: "invalid NAME 'VALUE': expected EXPECTED"."""
    shown = reprlib.repr(value)
    quoted = shown if isinstance(value, str) else f"'{shown}'"
    return f"invalid {name} {quoted}: expected {expected}"


def wrong_type(name: str, value: object, expected: str) -> TypeError:
    """Returns the `TypeError` for an argument of the wrong type, which it names."""
    return TypeError(invalid(name, value, f"{expected}, not {type(value).__name__}"))


def typed(name: str, value: object, kind: type) -> None:
    """Raises `TypeError` unless `value` is a `kind`."""
    if not isinstance(value, kind):
        raise wrong_type(name, value, f"a {kind.__name__} of sotto")


def whole(name: str, value: object, most: int) -> int:
    """Returns `value` as an integer from 0 to `most`. Rejects True and False."""
    try:
        number = operator.index(None if isinstance(value, bool) else value)  # type: ignore[arg-type]
    except TypeError:
        raise wrong_type(name, value, "an integer") from None
    if not 0 <= number <= most:
        raise ArgumentError(invalid(name, number, f"an integer from 0 to {most}"))
    return number


def number(name: str, value: object) -> float:
    """Returns `value` as a number from 0 to the maximum of a C float."""
    if isinstance(value, (str, bytes, bool)) or not hasattr(value, "__float__"):
        raise wrong_type(name, value, "a number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not 0 <= found < 2.0**128:
        raise ArgumentError(invalid(name, value, "0 or a positive number"))
    return found


def string(name: str, value: object) -> str:
    """Returns `value` if it is a non-empty str without NUL; else raises `ArgumentError` or `TypeError`."""
    if not isinstance(value, str):
        raise wrong_type(name, value, "a str")
    if not value or "\0" in value:
        raise ArgumentError(invalid(name, value, "non-empty text without NUL"))
    return value


def choice(name: str, value: object, allowed: Mapping[Any, int]) -> int:
    """Returns the native constant that `allowed` has for the word `value`."""
    words = ", ".join(f'"{word}"' for word in allowed)
    if not isinstance(value, str):
        raise wrong_type(name, value, f"one of {words}")
    if value not in allowed:
        raise ArgumentError(invalid(name, value, f"one of {words}"))
    return allowed[value]


def truth(name: str, value: object) -> bool:
    """Returns `value` if it is True or False. Rejects other truthy and falsy values."""
    if not isinstance(value, bool):
        raise wrong_type(name, value, "True or False")
    return value
