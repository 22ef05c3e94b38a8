"""Whisper tiny.en, real weights, beside faster-whisper: sixty lines that espeak-ng speaks."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from faster_whisper import WhisperModel

import sotto
from ct2.support import ROOT, engine, in_turn, median, percentage

sys.path.append(str(ROOT / "tests" / "speech"))
from conftest import MODEL, OPTIONS  # needs the path above
from words import LINES, error_rate, speak


def ours(asked: sotto.Engine, file: Path) -> tuple[float, str]:
    """Seconds, and the text."""
    began = perf_counter()
    text = asked.transcribe(file).text
    return perf_counter() - began, text


def theirs(stock: WhisperModel, file: Path) -> tuple[float, str]:
    """Likewise, by the library itself."""
    began = perf_counter()
    segments, _ = stock.transcribe(str(file), language="en", vad_filter=True)
    text = "".join(segment.text for segment in segments).strip()
    return perf_counter() - began, text


def measure(work: Path, turns: int) -> dict[str, Any]:
    """All figures of hearing. Each line is heard once by both, in turn."""
    stock = WhisperModel(str(MODEL), device="cpu", compute_type=OPTIONS["compute_type"], cpu_threads=1)
    files = [speak(line, work / f"line-{at}.wav") for at, line in enumerate(LINES)]
    with engine() as asked:
        asked.load_model("ears", path=MODEL, backend="ctranslate2", options=OPTIONS)
        each = iter(files)
        rows = []
        for at, file in enumerate(each):
            ways = {
                "ours": lambda file=file: ours(asked, file),
                "library": lambda file=file: theirs(stock, file),
            }
            rows += in_turn(1, dict(list(ways.items())[:: 1 if at % 2 == 0 else -1]))
    return {
        "lines": len(rows),
        "equal_pct": percentage(row["ours"][1] == row["library"][1] for row in rows),
        "time_ratio": median(row["ours"][0] / row["library"][0] for row in rows),
        "seconds_a_line": median(row["ours"][0] for row in rows),
        "word_error_rate": round(
            error_rate((line, row["ours"][1]) for line, row in zip(LINES, rows, strict=True)), 3
        ),
    }
