"""What calls are made of: operations, JSON, paths, and the struct that describes a model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ._call import struct
from ._json import dump
from ._lib import lib
from ._values import string, truth, whole

Json = str | Mapping[str, Any]  # a JSON object, as text or not yet
StrPath = str | os.PathLike[str]

OPS: Mapping[str, int] = {
    "chat": lib.SOTTO_OP_CHAT,
    "completion": lib.SOTTO_OP_COMPLETION,
    "infill": lib.SOTTO_OP_INFILL,
    "tokenize": lib.SOTTO_OP_TOKENIZE,
    "detokenize": lib.SOTTO_OP_DETOKENIZE,
    "apply_template": lib.SOTTO_OP_APPLY_TEMPLATE,
    "save_state": lib.SOTTO_OP_SAVE_STATE,
    "restore_state": lib.SOTTO_OP_RESTORE_STATE,
    "open_session": lib.SOTTO_OP_OPEN_SESSION,
    "close_session": lib.SOTTO_OP_CLOSE_SESSION,
    "read_session": lib.SOTTO_OP_READ_SESSION,
    "change_session": lib.SOTTO_OP_CHANGE_SESSION,
}
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
    """Which model, and how it is wanted."""
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
    """How an engine works."""
    given: int = lib.SOTTO_ENGINE_DETERMINISTIC if truth("deterministic", deterministic) else 0
    return given | lib.SOTTO_ENGINE_GATES if truth("gates", gates) else given


def megabytes(name: str, value: object) -> int:
    """A number of megabytes, in bytes."""
    return whole(name, value, _MOST_MB) * _MB


def path_text(name: str, path: StrPath | None) -> str:
    """A path as the library takes it. None is the empty text."""
    return "" if path is None else string(name, os.path.expanduser(os.fspath(path)))


def model_name(name: str, value: StrPath) -> str:
    """A model's id, which may be its file's path."""
    return string(name, os.fspath(value) if isinstance(value, os.PathLike) else value)


def json_text(name: str, value: Json) -> str:
    """A JSON object as text."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be a str of JSON")
    return dump(name, value)
