"""Progress bars on stderr. Draws nothing if stderr is not a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..engine import Engine
from . import screen

Told = Callable[[str, float], None]
Bytes = Callable[[int, int], None]  # bytes transferred so far, and total bytes

_WORDS = {"download": "downloading", "load": "loading", "convert": "converting", "quantize": "quantizing"}


def shown() -> bool:
    """Returns true if progress bars are shown, i.e. if stderr is a terminal."""
    return sys.stderr.isatty()


@contextmanager
def fractions(what: str) -> Iterator[Told]:
    """Yields a callback `(part, done)` that draws one progress bar per part; `done` runs from 0 to 1.

    Removes the bars at the end. Draws only inside the callback, on the caller's thread, so that no refresh
    thread disturbs a measurement.
    """
    if not shown():
        yield lambda part, done: None
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    name = Path(what).name if os.path.isfile(what) else what  # a full path would squeeze the bar
    with _bars(*columns, transient=True, auto_refresh=False) as bars:
        tasks: dict[str, Any] = {}

        def report(part: str, done: float) -> None:
            if part not in tasks:
                title = f"{_WORDS.get(part, part)} {name}".strip()
                tasks[part] = bars.add_task(_plain(title), total=1.0)
            bars.update(tasks[part], completed=done)
            bars.refresh()

        yield report


@contextmanager
def download(what: str) -> Iterator[Bytes]:
    """Yields a callback `(bytes so far, total bytes)` that draws a bar with bytes, speed and time left.

    The bar stays on the screen at the end.
    """
    if not shown():
        yield lambda got, whole: None
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        *(TextColumn("{task.description}"), BarColumn(), DownloadColumn()),
        *(TransferSpeedColumn(), TimeRemainingColumn(compact=True, elapsed_when_finished=True)),
    )
    with _bars(*columns) as bars:
        task = bars.add_task(_plain(what), total=None, visible=False)

        def report(got: int, whole: int) -> None:
            bars.update(task, completed=got, total=whole or None, visible=True)

        yield report


def load(engine: Engine, model: str, **options: Any) -> None:
    """Loads a model and shows the progress. `options`: keyword arguments of `Engine.load_model()`."""
    with fractions(model) as report:
        engine.load_model(model, progress=report, **options)


def _bars(*columns: Any, **options: Any) -> Any:
    from rich.progress import Progress

    return Progress(*columns, console=screen.console(stderr=True), **options)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
