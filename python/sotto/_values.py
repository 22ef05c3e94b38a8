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


def whole(name: str, value: object, most: int) -> int:
    """Returns `value` as an integer from 0 to `most`. Rejects True and False."""
    try:
        number = operator.index(None if isinstance(value, bool) else value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is {reprlib.repr(value)}; it must be an integer") from None
    if not 0 <= number <= most:
        raise ArgumentError(f"{name} is {reprlib.repr(number)}; it must be an integer from 0 to {most}")
    return number


def number(name: str, value: object) -> float:
    """Returns `value` as a number from 0 to the maximum of a C float."""
    if isinstance(value, (str, bytes, bool)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is {reprlib.repr(value)}; it must be a number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not 0 <= found < 2.0**128:
        raise ArgumentError(f"{name} is {reprlib.repr(value)}; it must be 0 or a positive number")
    return found


def string(name: str, value: object) -> str:
    """Returns `value` if it is a non-empty str without NUL."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {reprlib.repr(value)}; it must be a str")
    if not value or "\0" in value:
        raise ArgumentError(f"{name} is {reprlib.repr(value)}; it must be text, and hold no NUL")
    return value


def choice(name: str, value: object, allowed: Mapping[Any, int]) -> int:
    """Returns the number of the word `value` in `allowed`."""
    words = ", ".join(f'"{word}"' for word in allowed)
    if not isinstance(value, str):
        raise TypeError(f"{name} is {reprlib.repr(value)}; it must be one of {words}")
    if value not in allowed:
        raise ArgumentError(f"{name} is {reprlib.repr(value)}; it must be one of {words}")
    return allowed[value]


def truth(name: str, value: object) -> bool:
    """Returns `value` if it is True or False. Rejects other truthy and falsy values."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {reprlib.repr(value)}; it must be True or False")
    return value
