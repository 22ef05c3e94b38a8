"""`--plot`: keeps what the engine traced beside the frames, and has it drawn."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING, Any

from ..engine import Engine
from ..errors import ArgumentError, SottoError
from .frames import FrameStats

if TYPE_CHECKING:
    from ..trace import Slice

FORMATS = (".png", ".svg", ".pdf")


class Plot:
    """A picture to be. Refuses at once what could not be drawn or written at the end."""

    def __init__(self, path: str) -> None:
        self.path = os.path.expanduser(path)
        if os.path.splitext(self.path)[1].lower() not in FORMATS:
            raise ArgumentError(f"--plot is {path}; it must end in {', '.join(FORMATS)}")
        if not os.path.isdir(os.path.dirname(self.path) or "."):
            raise ArgumentError(f"--plot {path} cannot be written: there is no such folder")
        if importlib.util.find_spec("matplotlib") is None:
            raise SottoError(
                "--plot needs matplotlib, which is not installed here: pip install 'sotto-runtime[plot]'"
            )
        self.slices: list[Slice] = []
        self.alone = self.together = FrameStats()

    def take(self, engine: Engine) -> None:
        """Takes what the engine traced since last asked. Called once a frame: it keeps only so many."""
        self.slices += engine.trace()

    def keep(self, alone: FrameStats, together: FrameStats) -> None:
        """The frames, once all of them ran."""
        self.alone, self.together = alone, together

    def write(self, report: dict[str, Any]) -> None:
        """Draws the picture into its file."""
        from .drawing import draw

        try:
            draw(self.path, self.alone, self.together, self.slices, report)
        except OSError as error:
            raise ArgumentError(f"--plot {self.path} cannot be written: {error.strerror}") from None
