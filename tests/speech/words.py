"""Texts that are spoken and heard, and the error rate of what was heard."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

LINES = tuple(Path(__file__).with_name("lines.txt").read_text().splitlines())


def speak(line: str, path: Path) -> Path:
    """Speaks a line into a WAV file of 22,050 values a second, by espeak-ng."""
    command = ["espeak-ng", "-v", "en-us", "-s", "140", "-w", str(path), line]
    subprocess.run(command, check=True, timeout=30)
    return path


def words(text: str) -> list[str]:
    """Its words in lower case."""
    return re.findall(r"[a-z0-9']+", text.lower())


def errors(right: list[str], heard: list[str]) -> int:
    """Insertions, deletions and substitutions of words. By Levenshtein (1966)."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(right, 1):
        last, row = row, [i]
        for j, other in enumerate(heard, 1):
            row.append(min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (word != other)))
    return row[-1]


def error_rate(pairs: Iterable[tuple[str, str]]) -> float:
    """Wrong words over words, of pairs of what was said and what was heard."""
    listed = [(words(right), words(heard)) for right, heard in pairs]
    return sum(errors(*pair) for pair in listed) / sum(len(right) for right, _ in listed)
