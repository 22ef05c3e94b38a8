"""What the parts share: requests that are waited for, medians, texts to ask."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sotto
from sotto.backends.ctranslate2 import CTranslate2

ROOT = Path(__file__).resolve().parents[3]
HOUSE = ROOT / "samples" / "house_model" / "house.gguf"


@contextmanager
def engine(mode: str = "prioritize_compute") -> Iterator[sotto.Engine]:
    """An engine with the backend."""
    with sotto.Engine("cpu", mode=mode) as made:
        made.add_backend(CTranslate2())
        yield made


def done(asked: sotto.Engine, requests: Iterable[int]) -> dict[int, sotto.Event]:
    """Waits for requests, and returns their last events. Ends the bench if one failed."""
    waiting, found = set(requests), {}
    while waiting:
        asked.wait(1)
        for event in asked.events():
            if event.kind == "request_done" and event.request in waiting:
                if event.status < 0:
                    sys.exit(event.error)
                waiting.discard(event.request)
                found[event.request] = event
    return found


def median(values: Iterable[float]) -> float:
    """The median, in three digits."""
    return round(statistics.median(values), 3)


def percentage(values: Iterable[bool]) -> float:
    """How many are true."""
    listed = list(values)
    return round(100 * sum(listed) / len(listed), 2)


def converted(folder: Path, source: Path) -> Path:
    """A model as `sotto convert` writes it, in float32; kept for the next time."""
    if not (folder / "model.bin").exists():
        command = [
            sys.executable,
            "-m",
            "sotto.cli",
            "convert",
            str(source),
            "--to",
            "ctranslate2",
            str(folder),
        ]
        subprocess.run([*command, "--quantization", "float32"], check=True, stdout=sys.stderr)
    return folder


def in_turn(turns: int, ways: dict[str, Callable[[], Any]]) -> list[dict[str, Any]]:
    """What each way gives in each turn; every other turn runs them in the opposite order."""
    rows = []
    for turn in range(turns):
        order = list(ways) if turn % 2 == 0 else list(ways)[::-1]
        rows.append({name: ways[name]() for name in order})
    return rows
