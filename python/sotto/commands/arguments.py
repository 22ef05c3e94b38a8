"""Argument types for argparse and arguments that several subcommands share.

The error of an argument type names the rejected value and the allowed range.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable
from typing import Any

from .._values import invalid
from ..errors import ArgumentError
from .confined import Limits

MOST_MB = (1 << 44) - 1  # maximum memory budget, in MB


def seconds(text: str) -> float:
    """Parses a duration in seconds, 0.5 to 86400.

    Raises `argparse.ArgumentTypeError` for any other text.
    """
    return _between(text, "number of seconds", 0.5, 86400)


def wait(text: str) -> float:
    """Parses a duration in seconds, 0 to 86400.

    Raises `argparse.ArgumentTypeError` for any other text.
    """
    return _between(text, "number of seconds", 0, 86400)


def price(text: str) -> float:
    """Parses a price in USD, 0 to 1,000,000.

    Raises `argparse.ArgumentTypeError` for any other text.
    """
    return _between(text, "price in USD", 0, 1_000_000)


def pace(text: str) -> float:
    """Parses a pace in tokens per second. 0: no pacing.

    Raises `argparse.ArgumentTypeError` if the text is not a number, or is negative.
    """
    value = _number(text, "pace")
    if value < 0:
        raise argparse.ArgumentTypeError(
            f"invalid pace '{text}': expected a positive number, or 0 for no pacing"
        )
    return value


def number(text: str) -> float:
    """Parses a finite number. The engine checks its range."""
    return _number(text, "number")


def count(least: int, most: int) -> Callable[[str], int]:
    """Returns an argument type for integers from `least` to `most`, both included."""

    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(
                f"invalid number '{text}': expected an integer from {least} to {most}"
            )
        return int(text)

    return read


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that all commands with an engine share: `--threads` and `--module-dir`."""
    parser.add_argument(
        "--threads", type=count(0, 4096), default=0, metavar="N", help="compute threads; 0: one a core (0)"
    )
    parser.add_argument("--module-dir", metavar="DIR", help="where the backend modules are, if elsewhere")


def add_library_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of commands that run CTranslate2: `--threads` and `--compute-type`."""
    parser.add_argument(
        "--threads",
        type=count(1, 256),
        default=max(1, (os.cpu_count() or 1) // 2),
        metavar="N",
        help="threads of the library; no more than cores that are free (%(default)s)",
    )
    parser.add_argument(
        "--compute-type", default="int8", metavar="TYPE", help="int8, float32, ... (%(default)s)"
    )


def add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of commands that open a file in a child process: `--timeout` and `--memory`."""
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
    """Returns the limits of a child process that opens the file `path`.

    Args:
        path: file that the child process opens; a larger file gets higher limits.
        timeout: time limit in seconds. None: depends on the file size.
        memory: memory limit in MB. None: depends on the file size.
        extra: bytes to add to the default memory limit.
    """
    found = Limits.of(path, timeout, extra)
    return found if memory is None else Limits(found.seconds, memory << 20)


def engine_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the parsed engine arguments as keyword arguments of `Engine`."""
    return {"threads": arguments.threads, "module_dir": arguments.module_dir}


def json_object(name: str, text: str) -> dict[str, Any]:
    """Parses `text`, the value of the argument `name`, as a JSON object.

    Raises `ArgumentError` if it is not a JSON object.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ArgumentError(f"invalid {name}: expected JSON; {error}") from None
    if not isinstance(found, dict):
        raise ArgumentError(invalid(name, text, "a JSON object"))
    return found


def _between(text: str, what: str, least: float, most: float) -> float:
    value = _number(text, what)
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"invalid {what} '{text}': expected {least} to {most}")
    return value


def _number(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"invalid {name} '{text}': expected a finite number")
    return value
