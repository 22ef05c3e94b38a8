"""Sentinels that stand for the protected pieces of a line while it is translated."""

from __future__ import annotations

import re
from typing import NamedTuple

from .protect import Piece, Protector

FORMS = (
    "[{}]",
    "<{}>",
    "X{}X",
    "#{}#",
)  # of a sentinel and its number; the first that a model copies is taken


class _Run(NamedTuple):
    """Pieces that follow each other without anything between, which one sentinel stands for."""

    text: str
    begin: int
    end: int


class Masked(NamedTuple):
    """A line with sentinels.

    Attributes:
        text: The line that is translated.
        runs: The pieces that sentinel 1, 2, ... stands for.
        spaced: For each sentinel, whether a space was added before and after it.
        form: The form of the sentinels.
    """

    text: str
    runs: list[str]
    spaced: list[tuple[bool, bool]]
    form: str


def mask(protector: Protector, text: str, form: str) -> Masked | None:
    """Returns the line with a sentinel for each run of pieces; None if the line has such a text already."""
    if _pattern(form).search(text):
        return None
    made, at, spaced = "", 0, []
    runs = _runs(protector.pieces(text))
    for number, run in enumerate(runs, 1):
        made += text[at : run.begin]
        before = bool(re.search(r"\w$", made))
        after = bool(re.match(r"\w", text[run.end :]))
        made += f"{' ' * before}{form.format(number)}{' ' * after}"
        spaced.append((before, after))
        at = run.end
    return Masked(made + text[at:], [run.text for run in runs], spaced, form)


def unmask(masked: Masked, target: str) -> str | None:
    """Returns a translation with the pieces in place of the sentinels; None unless each is there once."""
    found = list(_pattern(masked.form).finditer(target))
    if sorted(int(one[1]) for one in found) != list(range(1, len(masked.runs) + 1)):
        return None
    made, at = "", 0
    for one in found:
        before, after = masked.spaced[int(one[1]) - 1]
        made += target[at : one.start()]
        made = (made.rstrip(" ") if before else made) + masked.runs[int(one[1]) - 1]
        at = one.end()
        while after and target[at : at + 1] == " ":
            at += 1
    return made + target[at:]


def parts_of(protector: Protector, text: str) -> list[tuple[str, bool]]:
    """Splits a line into runs of pieces and the texts between. True: the part is translated."""
    made: list[tuple[str, bool]] = []
    at = 0
    for run in [*_runs(protector.pieces(text)), _Run("", len(text), len(text))]:
        between = text[at : run.begin]
        bare = between.strip()
        if has_words(bare):
            begin = between.index(bare)
            made += [(between[:begin], False), (bare, True), (between[begin + len(bare) :], False)]
        else:
            made.append((between, False))
        made.append((run.text, False))
        at = run.end
    return made


def has_words(text: str) -> bool:
    """Returns true if there is a letter to translate."""
    return any(letter.isalpha() for letter in text)


def _runs(pieces: list[Piece]) -> list[_Run]:
    made: list[_Run] = []
    for one in pieces:
        if made and made[-1].end == one.begin:
            made[-1] = _Run(made[-1].text + one.text, made[-1].begin, one.end)
        else:
            made.append(_Run(one.text, one.begin, one.end))
    return made


def _pattern(form: str) -> re.Pattern[str]:
    """Returns what finds the sentinels of a form, with the spaces that a model puts inside."""
    left, right = map(re.escape, form.split("{}"))
    return re.compile(rf"{left}\s?(\d+)\s?{right}")
