"""`--plot`: draws a run with matplotlib into a PNG, SVG or PDF file."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from ..errors import ArgumentError, SottoError
from .record import Record, unwritten, writable

FORMATS = (".png", ".svg", ".pdf")


class Plot:
    """Plot file to write at the end of a run. Checks the path and matplotlib at construction.

    Raises `ArgumentError` if the file name or folder is invalid, `SottoError` without matplotlib.
    """

    def __init__(self, path: str) -> None:
        if os.path.splitext(path)[1].lower() not in FORMATS:
            raise ArgumentError(f"invalid --plot '{path}': expected a file that ends in {', '.join(FORMATS)}")
        self.path = writable("--plot", path)
        if importlib.util.find_spec("matplotlib") is None:
            raise SottoError(
                "--plot needs matplotlib, which is not installed here: pip install 'sotto-runtime[plot]'"
            )

    def write(self, record: Record, report: dict[str, Any]) -> None:
        """Draws the plot into its file. Raises `ArgumentError` if the file cannot be written."""
        from .drawing import draw

        try:
            draw(self.path, record, report)
        except OSError as error:
            raise unwritten("--plot", self.path, error) from None
