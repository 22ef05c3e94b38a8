"""Arguments of native calls: JSON, paths, and `sotto_model_desc`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ._call import struct
from ._json import dump
from ._lib import lib
from ._values import string, truth, whole, wrong_type

Json = str | Mapping[str, Any]  # a JSON object, as text or as a mapping
StrPath = str | os.PathLike[str]

MOST_U32, MOST_U64 = (1 << 32) - 1, (1 << 64) - 1
_MB = 1 << 20
_MOST_MB = (1 << 64) // _MB - 1


def model_desc(
    model_id: str,
    path: str,
    backend: str | None,
    options: Json | None,
    *,
    user: int = 0,
    flags: int = 0,
) -> Any:
    """Returns a `sotto_model_desc`."""
    return struct(
        "sotto_model_desc",
        id=model_id,
        path=path,
        backend=string("backend", backend) if backend is not None else "",
        options=json_text("options", options) if options is not None else "",
        user=user,
        flags=flags,
    )


def engine_flags(deterministic: object, gates: object) -> int:
    """Returns the SOTTO_ENGINE_ flags."""
    given: int = lib.SOTTO_ENGINE_DETERMINISTIC if truth("deterministic", deterministic) else 0
    return given | lib.SOTTO_ENGINE_GATES if truth("gates", gates) else given


def megabytes(name: str, value: object) -> int:
    """Converts megabytes (1,048,576 bytes each) to bytes. Raises `ArgumentError` if out of range."""
    return whole(name, value, _MOST_MB) * _MB


def path_text(name: str, path: StrPath | None) -> str:
    """Returns a path as text with `~` expanded; None gives the empty string."""
    return "" if path is None else string(name, os.path.expanduser(os.fspath(path)))


def model_name(name: str, value: StrPath) -> str:
    """Returns a model id as text; a path object is also accepted."""
    return string(name, os.fspath(value) if isinstance(value, os.PathLike) else value)


def json_text(name: str, value: Json) -> str:
    """Returns a JSON object as text. Raises `TypeError` if it is neither a str nor a mapping."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise wrong_type(name, value, "a str of JSON")
    return dump(name, value)
