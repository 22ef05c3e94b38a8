"""Shows the progress of a workload: a line that is rewritten on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from .types import ReadinessEvent

_PHASES = ("scheduling", "provisioning", "bootstrapping", "ready")
_WIDTH = 100  # columns of the line


class Progress:
    """Prints readiness events to standard output. Used in a `with` statement."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._terminal = self._stream.isatty()
        self._open = False  # the cursor is in a line that is rewritten

    def __call__(self, event: ReadinessEvent) -> None:
        """Prints one event."""
        step = f" [{event.step}]" if event.step else ""
        seconds = event.elapsed_ms // 1000
        if not self._terminal:
            self._write(f"[{seconds}s] {event.phase}{step}: {event.message}\n")
            return
        line = f"{_dots(event.phase)} {event.phase}{step}: {event.message} ({seconds} s)"
        self._write(f"\r\x1b[2K{line[:_WIDTH]}")
        self._open = True

    def __enter__(self) -> Callable[[ReadinessEvent], None]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open:
            self._write("\n")
            self._open = False

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "ascii"
        self._stream.write(text.encode(encoding, "replace").decode(encoding))
        self._stream.flush()


def _dots(phase: str) -> str:
    if phase not in _PHASES:
        return "!" * len(_PHASES)
    done = _PHASES.index(phase) + 1
    return "●" * done + "○" * (len(_PHASES) - done)
