"""Files of JSON lines: an object in each line."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ._desc import StrPath
from .errors import ArgumentError

_MAX_LINE = 64 << 20  # bytes


def write_lines(path: StrPath, lines: Iterable[str]) -> int:
    """Writes lines to a file, which appears under its name once it is complete; returns their number."""
    path = Path(path).expanduser().resolve()
    made = path.parent / f".sotto-{secrets.token_hex(8)}"
    count = 0
    try:
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    finally:
        made.unlink(missing_ok=True)
    return count


def batches(path: StrPath, size: int) -> Iterator[list[dict[str, Any]]]:
    """Yields the objects of a file, `size` at a time. Empty lines are skipped.

    Raises:
        ArgumentError: A line is not a JSON object, or is longer than 64 MB; the message names the line.
    """
    import json

    batch: list[dict[str, Any]] = []
    with Path(path).expanduser().open("rb") as file:
        for number in itertools.count(1):
            line = file.readline(_MAX_LINE + 1)
            if not line:
                break
            if len(line) > _MAX_LINE:
                raise ArgumentError(f"invalid line {number} of '{path}': expected at most {_MAX_LINE} bytes")
            if not line.strip():
                continue
            try:
                one = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ArgumentError(f"invalid line {number} of '{path}': expected JSON; {error}") from None
            if not isinstance(one, dict):
                raise ArgumentError(f"invalid line {number} of '{path}': expected a JSON object")
            batch.append(one)
            if len(batch) == size:
                yield batch
                batch = []
    if batch:
        yield batch
