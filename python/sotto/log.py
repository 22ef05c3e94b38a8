"""The log level."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ._call import check
from ._lib import lib
from ._values import choice

_LEVELS: Mapping[str, int] = {
    "error": lib.SOTTO_LOG_ERROR,
    "warn": lib.SOTTO_LOG_WARN,
    "info": lib.SOTTO_LOG_INFO,
    "debug": lib.SOTTO_LOG_DEBUG,
    "trace": lib.SOTTO_LOG_TRACE,
}
_settled = False  # True once a level was set or an engine was created


def set_log_level(level: str) -> None:
    """Logs lines up to `level`: "error", "warn" (the default), "info", "debug" or "trace"."""
    global _settled
    check(lib.sotto_log_set_level(choice("level", level, _LEVELS)))
    _settled = True


def settle() -> None:
    """Applies SOTTO_LOG or RUST_LOG once, for the first engine: a script may set them after its imports."""
    global _settled
    if _settled:
        return
    _settled = True
    for variable in ("SOTTO_LOG", "RUST_LOG"):
        if (level := os.environ.get(variable, "")) in _LEVELS:
            check(lib.sotto_log_set_level(_LEVELS[level]))
            return
