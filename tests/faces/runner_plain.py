"""What the scripts of `runner/` have in common: responses of either side as plain values."""

from __future__ import annotations

import dataclasses
import enum
import os
from collections.abc import Callable
from typing import Any

HELLO = [{"role": "user", "content": "Hello, who are you?"}]
SHEET = {"role": "system", "content": "You are Brenna, a smith in Eastford."}


def where(path: str) -> tuple[str, str]:
    """Returns folder and name of a file, the arguments of Which.GGUF."""
    return os.path.dirname(path), os.path.basename(path)


def plain(value: Any) -> Any:
    """Returns a response as dicts and lists. A time or a rate becomes the name of its type."""
    if isinstance(value, list | tuple | bytes):
        return [plain(one) for one in value]
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, enum.Enum) or type(value).__name__.endswith("Type"):
        return str(value)
    if dataclasses.is_dataclass(value):
        names = [one.name for one in dataclasses.fields(value)]
    else:
        names = [one for one in dir(value) if not one.startswith("_") and not callable(getattr(value, one))]
    found = {name: plain(getattr(value, name)) for name in names}
    return {name: type(one).__name__ if name.endswith("_sec") else one for name, one in found.items()}


def failure(call: Callable[[], Any]) -> str:
    """Returns which of the built-in errors a call raises."""
    try:
        call()
    except (ValueError, TypeError) as error:
        return next(kind.__name__ for kind in (ValueError, TypeError) if isinstance(error, kind))
    except BaseException as error:
        return type(error).__name__
    return "none"
