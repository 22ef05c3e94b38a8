"""Logging, which all engines of the process share."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from .. import log
from .._values import invalid
from .errors import ValidationError

_LEVELS: Mapping[str | int, str] = {
    "none": "error",
    "debug": "debug",
    "info": "info",
    "warn": "warn",
    "warning": "warn",
    "error": "error",
    0: "error",
    1: "debug",
    2: "info",
    3: "warn",
    4: "error",
}
_DEFAULT = "warn"
_warned = False  # True once the user was told that `verbose=False` applies to all instances


def set_log_level(level: str | int) -> None:
    """Logs lines of at least this weight, in the whole process.

    Args:
        level: "debug", "info", "warn" or "warning", "error", or llama.cpp's number of one (1 to 4). "none"
            and 0 log errors only, too.

    Raises:
        ValidationError: The level is unknown. Also a `ValueError`.
    """
    key = level.lower() if isinstance(level, str) else level
    if isinstance(key, bool) or key not in _LEVELS:
        raise ValidationError(invalid("level", level, "none, debug, info, warn, error, or 0 to 4"))
    log.set_log_level(_LEVELS[key])


def disable_logging() -> None:
    """Logs errors only, in the whole process."""
    log.set_log_level("error")


def reset_logging() -> None:
    """Restores the default: warnings and errors."""
    log.set_log_level(_DEFAULT)


def silence(others_speak: bool) -> None:
    """Applies `verbose=False`.

    Args:
        others_speak: True if an open instance has `verbose=True`. The first time, the user is warned.
    """
    global _warned
    if others_speak and not _warned:
        _warned = True
        warnings.warn(
            "verbose=False silences the log of all Llama instances, also of those with verbose=True",
            RuntimeWarning,
            stacklevel=4,
        )
    disable_logging()
