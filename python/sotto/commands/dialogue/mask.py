"""Sentinels that stand for the protected pieces of a line while it is translated."""

from __future__ import annotations

import re
from typing import NamedTuple

from .pieces import Piece
from .protect import Protector

FORMS = (
    "[{}]",
    "<{}>",
    "X{}X",
    "#{}#",
)  # of a sentinel and its number; the first that a model copies is taken
_MAX_RUNS = 64  # sentinels of a line; with more, its parts are translated


class Run(NamedTuple):
    """Pieces that follow each other without anything between, which one sentinel stands for."""

    pieces: list[Piece]

    @property
    def begin(self) -> int:
        """Position of the run in the source."""
        return self.pieces[0].begin

    @property
    def end(self) -> int:
        """Position after the run in the source."""
        return self.pieces[-1].end

    @property
    def text(self) -> str:
        """The text of all pieces."""
        return "".join(one.text for one in self.pieces)


class Masked(NamedTuple):
    """A line with sentinels.

    Attributes:
        text: The line that is translated.
        runs: What sentinel 1, 2, ... stands for.
        spaced: For each sentinel, whether a space was added before and after it.
        form: The form of the sentinels.
    """

    text: str
    runs: list[Run]
    spaced: list[tuple[bool, bool]]
    form: str


class Built(NamedTuple):
    """A translation, and where the pieces of its source are in it."""

    text: str
    pieces: list[Piece]


class Builder:
    """Puts a translation together from texts and runs."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._pieces: list[Piece] = []
        self._length = 0

    def text(self, text: str) -> None:
        """Appends a text without pieces."""
        self._texts.append(text)
        self._length += len(text)

    def run(self, run: Run) -> None:
        """Appends a run of pieces."""
        for one in run.pieces:
            end = self._length + len(one.text)
            self._pieces.append(one._replace(begin=self._length, end=end))
            self.text(one.text)

    def built(self) -> Built:
        """Returns the translation."""
        return Built("".join(self._texts), self._pieces)


def mask(protector: Protector, text: str, form: str) -> Masked | None:
    """Returns the line with a sentinel for each run of pieces.

    None if the line has too many runs for a model, or has such a text already.
    """
    runs = runs_of(protector.pieces(text))
    if len(runs) > _MAX_RUNS:
        return None
    made, at, spaced = [], 0, []
    for number, run in enumerate(runs, 1):
        if _pattern(form).search(text, at, run.begin):
            return None
        before = run.begin > at and _is_word(text[run.begin - 1])
        after = _is_word(text[run.end : run.end + 1])
        made += [text[at : run.begin], " " * before, form.format(number), " " * after]
        spaced.append((before, after))
        at = run.end
    if _pattern(form).search(text, at):
        return None
    return Masked("".join([*made, text[at:]]), runs, spaced, form)


def unmask(masked: Masked, target: str) -> Built | None:
    """Returns a translation with the pieces in place of the sentinels; None unless each is there once."""
    found = list(_pattern(masked.form).finditer(target))
    if sorted(int(one[1]) for one in found) != list(range(1, len(masked.runs) + 1)):
        return None
    made, at = Builder(), 0
    for one in found:
        before, after = masked.spaced[int(one[1]) - 1]
        text = target[at : one.start()]
        made.text(text.rstrip(" ") if before else text)
        made.run(masked.runs[int(one[1]) - 1])
        at = one.end()
        while after and target[at : at + 1] == " ":
            at += 1
    made.text(target[at:])
    return made.built()


def parts_of(protector: Protector, text: str) -> list[Run | tuple[str, bool]]:
    """Splits a line into runs of pieces and the texts between. True: the text is translated."""
    made: list[Run | tuple[str, bool]] = []
    at = 0
    for run in [*runs_of(protector.pieces(text)), None]:
        between = text[at : run.begin if run else len(text)]
        bare = between.strip()
        if has_words(bare):
            begin = between.index(bare)
            made += [(between[:begin], False), (bare, True), (between[begin + len(bare) :], False)]
        else:
            made.append((between, False))
        if run is not None:
            made.append(run)
            at = run.end
    return made


def has_words(text: str) -> bool:
    """Returns true if there is a letter to translate."""
    return any(letter.isalpha() for letter in text)


def runs_of(pieces: list[Piece]) -> list[Run]:
    """Groups pieces that follow each other without anything between."""
    made: list[Run] = []
    for one in pieces:
        if made and made[-1].end == one.begin:
            made[-1].pieces.append(one)
        else:
            made.append(Run([one]))
    return made


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _pattern(form: str) -> re.Pattern[str]:
    """Returns what finds the sentinels of a form, with the spaces that a model puts inside."""
    left, right = map(re.escape, form.split("{}"))
    return re.compile(rf"{left}\s?(\d{{1,4}})\s?{right}")
