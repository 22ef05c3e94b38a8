"""Wraps streamed text at word boundaries."""

from __future__ import annotations

import unicodedata


class Wrap:
    """Converts streamed text to terminal output for `width` columns, without breaking words.

    Erases a word that grows past the edge and writes it again on the next line. A word that fills a whole
    line is broken. The last column stays empty, because terminals differ in the cursor position after it
    is filled.
    """

    def __init__(self, width: int) -> None:
        self.width = max(8, width - 1)
        self.column = 0
        self._word = ""  # text after the last space of the line

    def feed(self, text: str) -> str:
        """Returns the terminal output for new text."""
        return "".join(map(self._feed, text))

    def _feed(self, letter: str) -> str:
        if letter == "\n":
            self.column, self._word = 0, ""
            return letter
        cells = _cells(letter)
        if letter == " ":
            self._word = ""
            if self.column >= self.width:
                self.column = 0
                return "\n"
        elif self.column + cells > self.width:
            return self._break(letter)
        else:
            self._word += letter
        self.column += cells
        return letter

    def _break(self, letter: str) -> str:
        begun = sum(map(_cells, self._word))
        if begun == self.column:  # the word fills the line: break it
            self._word = ""
        else:
            letter = self._word + letter
        taken = f"\033[{begun}D\033[K" if begun and self._word else ""
        self._word = letter
        self.column = sum(map(_cells, letter))
        return f"{taken}\n{letter}"


def _cells(letter: str) -> int:
    if letter == "\t":
        return 8
    if unicodedata.combining(letter) or letter in "\u200b\u200c\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
