"""`Record`: base class of the data classes, which checks the types of their fields."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from .._values import wrong_type

_UNIONS = (Union, types.UnionType)


class Record:
    """A data class that raises `TypeError` for a field of another type than its annotation."""

    __slots__ = ()

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, hint, text, secret in _hints(kind):
            value = getattr(self, name)
            if fits(value, hint):
                continue
            where = f"{type(self).__name__}.{name}"
            if secret:
                raise TypeError(f"invalid {where} (not shown): expected {text}, not {type(value).__name__}")
            raise wrong_type(where, value, text)


@cache
def _hints(kind: Any) -> tuple[tuple[str, Any, str, bool], ...]:
    """Returns name, type, text of the type, and whether no text shows the value, of each field."""
    names = {**vars(sys.modules[kind.__module__])}
    hints = get_type_hints(kind, names, {"bytes": bytes, "object": object})
    return tuple((one.name, hints[one.name], str(one.type), not one.repr) for one in fields(kind))


def fits(value: object, hint: Any) -> bool:
    """Returns True if a value is of the type that an annotation names. An int is a float, True is no int."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in _UNIONS:
        return any(fits(value, one) for one in parts)
    if origin is list:
        return isinstance(value, list | tuple) and all(fits(one, parts[0]) for one in value)
    if origin is dict:
        return isinstance(value, Mapping) and all(
            fits(key, parts[0]) and fits(one, parts[1]) for key, one in value.items()
        )
    if origin is Callable:
        return callable(value)
    if hint is None:
        return value is None
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return isinstance(value, hint)
