"""`--plot`: a run as a picture, drawn by matplotlib where that is installed."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from ..errors import ArgumentError, SottoError
from .record import Record, unwritten, writable

FORMATS = (".png", ".svg", ".pdf")


class Plot:
    """A picture to be. Refuses at once what could not be drawn or written at the end."""

    def __init__(self, path: str) -> None:
        if os.path.splitext(path)[1].lower() not in FORMATS:
            raise ArgumentError(f"--plot is {path}; it must end in {', '.join(FORMATS)}")
        self.path = writable("--plot", path)
        if importlib.util.find_spec("matplotlib") is None:
            raise SottoError(
                "--plot needs matplotlib, which is not installed here: pip install 'sotto-runtime[plot]'"
            )

    def write(self, record: Record, report: dict[str, Any]) -> None:
        """Draws the picture into its file."""
        from .drawing import draw

        try:
            draw(self.path, record, report)
        except OSError as error:
            raise unwritten("--plot", self.path, error) from None
