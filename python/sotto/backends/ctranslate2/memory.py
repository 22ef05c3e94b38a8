"""The memory that a model takes, as the process shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from ..base import ModelInfo
from .files import bytes_as, weights_in

_PLAUSIBLE = (0.75, 1.25)  # of what the file says
_MOST_WORK = 1 << 30  # bytes; what is measured beyond that was other work of the process


class Measure:
    """Measures a load: create it before, and call `info()` after the weights are there."""

    def __init__(self, folder: Path, compute_type: str) -> None:
        self._expected = bytes_as(weights_in(folder), compute_type)
        self._before = _resident()

    def info(
        self,
        warm_up: Callable[[], object],
        *,
        streams: int,
        description: Mapping[str, Any],
        compute: int = 0,
        context: int = 0,
        most_work: int = _MOST_WORK,
    ) -> ModelInfo:
        """Works once by `warm_up`, and returns what the weights and that work added to the process.

        `compute` is memory that requests may take later, `most_work` what the work can have added, in bytes.
        More than that was other work of the process, whose memory cannot be told apart.
        """
        loaded = _resident()
        warm_up()
        compute += min(max(0, _resident() - loaded), most_work)
        return ModelInfo(self._plausible(loaded - self._before), compute, streams, context, description)

    def _plausible(self, measured: int) -> int:
        """Returns what was measured; what the file says where other work of the process falsified it."""
        low, high = _PLAUSIBLE
        return measured if low * self._expected < measured < high * self._expected else self._expected


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)
