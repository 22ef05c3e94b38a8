"""What a run leaves for `--plot` and `--trace`: its frames, and what the engine traced beside them."""

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
    """What happened, as far as it was kept."""

    def __init__(self) -> None:
        self.slices: list[Slice] = []
        self.alone = self.together = FrameStats()

    def take(self, engine: Engine) -> None:
        """Takes what the engine traced since last asked. Called once a frame: it keeps only so many."""
        self.slices += engine.trace()

    def keep(self, alone: FrameStats, together: FrameStats) -> None:
        """The frames, once all of them ran."""
        self.alone, self.together = alone, together


class File(Protocol):
    """A file to be. Refuses at once what could not be written at the end."""

    path: str

    def write(self, record: Record, report: dict[str, Any]) -> None:
        """Writes it."""


class Trace:
    """`--trace`: a file for Perfetto."""

    def __init__(self, path: str) -> None:
        self.path = writable("--trace", path)

    def write(self, record: Record, report: dict[str, Any]) -> None:
        """Writes every slice."""
        try:
            write_trace(record.slices, self.path)
        except OSError as error:
            raise unwritten("--trace", self.path, error) from None


def writable(option: str, path: str) -> str:
    """Where a file is to be, if its folder is there."""
    path = os.path.expanduser(path)
    if not os.path.isdir(os.path.dirname(path) or ".") or os.path.isdir(path):
        what = "it is a folder" if os.path.isdir(path) else "there is no such folder"
        raise ArgumentError(f"{option} {path} cannot be written: {what}")
    return path


def unwritten(option: str, path: str, error: OSError) -> ArgumentError:
    """What to say of a file that could not be written after all."""
    return ArgumentError(f"{option} {path} cannot be written: {error.strerror}")
