"""Every row of the reference checklist that is built so far is named by a test."""

from __future__ import annotations

import re
from pathlib import Path

# Checklist A: module functions, Backend, TokenStream, engine and models, chat, text, settings, exceptions.
BUILT = {*range(1, 9), 10, *range(18, 98), *range(194, 208), *range(235, 240)}


def test_each_row_has_a_test() -> None:
    found: set[int] = set()
    for file in Path(__file__).parent.glob("test_*.py"):
        for mark in re.findall(r"mark\.row\((.*)\)", file.read_text(encoding="utf-8")):
            found |= {int(row) for row in re.findall(r'"A-(\d{3})"', mark)}
            for begin, end in re.findall(r"in range\((\d+), (\d+)\)", mark):
                found |= set(range(int(begin), int(end)))
            for numbers in re.findall(r"in \(([\d, ]+)\)", mark):
                found |= {int(number) for number in numbers.split(",")}
    missing = sorted(BUILT - found)
    assert not missing, f"no test names {[f'A-{row:03}' for row in missing]}"
