"""Data of a run for `--plot` and `--trace`: its frames and the engine's trace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from ..engine import Engine
from ..errors import ArgumentError
from ..perfetto import write_trace
from .frames import FrameStats

if TYPE_CHECKING:
    from ..trace import Slice


class Record:
    """Collected data of a run: trace slices, and frame statistics of the game alone and with characters."""

    def __init__(self) -> None:
        self.slices: list[Slice] = []
        self.alone = self.together = FrameStats()

    def take(self, engine: Engine) -> None:
        """Takes the slices that the engine traced since the last call.

        Call it once per frame: the engine's trace has a limited capacity.
        """
        self.slices += engine.trace()

    def keep(self, alone: FrameStats, together: FrameStats) -> None:
        """Stores the frame statistics at the end of the run."""
        self.alone, self.together = alone, together


class File(Protocol):
    """File to write at the end of a run. Its constructor raises if the file could not be written."""

    path: str

    def write(self, record: Record, report: dict[str, Any]) -> None:
        """Writes the file."""


class Trace:
    """`--trace`: a trace file for Perfetto."""

    def __init__(self, path: str) -> None:
        self.path = writable("--trace", path)

    def write(self, record: Record, report: dict[str, Any]) -> None:
        """Writes all slices. Raises `ArgumentError` if the file cannot be written."""
        try:
            write_trace(record.slices, self.path)
        except OSError as error:
            raise unwritten("--trace", self.path, error) from None


def writable(option: str, path: str) -> str:
    """Returns `path` with `~` expanded.

    Raises `ArgumentError` if the folder of the file does not exist, or if `path` is a folder.
    """
    path = os.path.expanduser(path)
    if not os.path.isdir(os.path.dirname(path) or ".") or os.path.isdir(path):
        what = "the path is a folder" if os.path.isdir(path) else "the folder does not exist"
        raise ArgumentError(f"{option} {path} cannot be written: {what}")
    return path


def unwritten(option: str, path: str, error: OSError) -> ArgumentError:
    """Returns the error for a file that could not be written."""
    return ArgumentError(f"{option} {path} cannot be written: {error.strerror}")
