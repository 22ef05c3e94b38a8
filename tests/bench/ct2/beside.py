"""A game of one thread at 60 frames per second, alone and while its engine transcribes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import sotto
from ct2.hear import LINES, MODEL, OPTIONS, speak
from ct2.support import engine, median
from sotto.demo import frames

SECONDS = 10.0


def missed(asked: sotto.Engine, rounds: int, file: str | None) -> float:
    """Per cent of frames that a run misses; with a file, one transcription follows another."""
    counted = {"heard": 0, "running": 0}

    def begin() -> None:
        asked.frame_begin(busy_cores=1, period=frames.PERIOD)
        for event in asked.events():
            if event.kind == "request_done":
                counted["heard"] += 1
                counted["running"] -= 1
        if file is not None and not counted["running"]:
            asked.submit("transcribe", {"model": "ears", "file": file})
            counted["running"] += 1

    def end(slack: float) -> None:
        asked.frame_end()

    found = frames.run(rounds, SECONDS, begin=begin, end=end)
    for event in asked.events():
        counted["running"] -= event.kind == "request_done"
    while counted["running"] > 0:
        asked.wait(1)
        counted["running"] -= sum(event.kind == "request_done" for event in asked.events())
    if file is not None and not counted["heard"]:
        raise SystemExit("no transcription ended beside the game")
    return found.missed_pct


def measure(work: Path, turns: int) -> dict[str, Any]:
    """The frames missed."""
    file = str(speak(LINES[2], work / "line-2.wav"))
    rounds = frames.calibrate()
    rows = []
    with engine("prioritize_graphics") as asked:
        asked.load_model("ears", path=MODEL, backend="ctranslate2", options=OPTIONS)
        asked.transcribe(file)
        for turn in range(turns):
            order = random.Random(turn).sample([None, file], 2)
            rows.append({"alone" if one is None else "beside": missed(asked, rounds, one) for one in order})
    return {
        "alone_missed_pct": median(row["alone"] for row in rows),
        "beside_missed_pct": median(row["beside"] for row in rows),
        "points": median(row["beside"] - row["alone"] for row in rows),
    }
