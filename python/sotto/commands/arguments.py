"""Argument types: each refuses with the word that was said and what is allowed."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError
from .confined import Limits

MOST_MB = (1 << 44) - 1  # of a budget


def seconds(text: str) -> float:
    """A length of time."""
    value = _number(text, "number of seconds")
    if not 0.5 <= value <= 86400:
        raise argparse.ArgumentTypeError(f"{text} is out of range; it must be from 0.5 to 86400")
    return value


def pace(text: str) -> float:
    """Tokens per second."""
    value = _number(text, "pace")
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative; 0 means no pacing")
    return value


def number(text: str) -> float:
    """Any number; what is in range, the engine says."""
    return _number(text, "number")


def count(least: int, most: int) -> Callable[[str], int]:
    """A whole number from `least` to `most`."""

    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is out of range; it must be from {least} to {most}")
        return int(text)

    return read


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """What every command that opens an engine understands."""
    parser.add_argument(
        "--threads", type=count(0, 4096), default=0, metavar="N", help="compute threads; 0: one a core (0)"
    )
    parser.add_argument("--module-dir", metavar="DIR", help="where the backend modules are, if elsewhere")


def add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    """What every command that opens a file in a process of its own understands."""
    parser.add_argument(
        "--timeout", type=seconds, metavar="S", help="seconds for a file (30, and 1 for each 100 MB)"
    )
    parser.add_argument(
        "--memory",
        type=count(1, MOST_MB),
        metavar="MB",
        help="memory for a file, where the system is Linux (2048, and twice the file)",
    )


def limits(path: str, timeout: float | None, memory: int | None, extra: int = 0) -> Limits:
    """The same, for a file. `extra`: bytes that are needed beside it."""
    found = Limits.of(path, timeout, extra)
    return found if memory is None else Limits(found.seconds, memory << 20)


def engine_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The same, as `Engine` takes it."""
    return {"threads": arguments.threads, "module_dir": arguments.module_dir}


def json_object(name: str, text: str) -> dict[str, Any]:
    """A JSON object that somebody typed."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ArgumentError(f"{name} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ArgumentError(f"{name} is {text}; it must be a JSON object")
    return found


def _number(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is no {name}")
    return value
