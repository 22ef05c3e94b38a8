"""What a chat shows: the answer as it comes, and a few words about it. Colours on a terminal only."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TextIO

from ..screen import printable
from .answer import Answer
from .wrap import Wrap

BOLD, DIM, RED, RESET = "\033[1m", "\033[2m", "\033[31m", "\033[0m"


class View:
    """Writes to the screen."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.terminal = self.out.isatty()
        self.colours = self.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._kind = ""
        self._wrap: Wrap | None = None  # of the answer that is being heard
        self._begun = False  # what is heard, with a word that can be seen
        self._reading = False  # there is a note to be wiped away

    def reading(self, done: float) -> None:
        """How much of a long prompt is read, from 0 to 1. Gone with the first word."""
        if self.colours:
            self._reading = True
            self._write(f"\r{DIM}reading {done:4.0%}{RESET}")

    def hear(self, kind: str, words: str) -> None:
        """Words of an answer; reasoning is dimmed, and ends with a blank line."""
        self._wipe()
        if self._wrap is None:
            self._wrap = Wrap(shutil.get_terminal_size().columns if self.terminal else sys.maxsize)
        if kind != self._kind:
            if self._kind == "reasoning":
                self._write(self._wrap.feed("\n\n" if self._wrap.column else "\n"))
            self._kind, self._begun = kind, False
        if not self._begun:
            words = words.lstrip("\n")
        self._begun = self._begun or bool(words)
        shown = self._wrap.feed(printable(words) if self.terminal else words)
        self._write(f"{DIM}{shown}{RESET}" if self.colours and kind == "reasoning" else shown)

    def ends(self, answer: Answer) -> None:
        """An answer is over."""
        self._wipe()
        if self._wrap is not None and self._wrap.column:
            self._write("\n")
        self._kind, self._wrap = "", None
        if answer.dropped:
            self.note(f"(what no longer fits was left out: the {answer.dropped} oldest messages)")
        if answer.stopped:
            self.note("(stopped)")
        elif answer.finish == "length":
            self.note("(cut: max_tokens, or the end of the context)")

    def note(self, text: str) -> None:
        """Something about the chat, not of it."""
        self.line(text, DIM)

    def wrong(self, text: str) -> None:
        """Something that could not be done."""
        self.line(text, RED)

    def line(self, text: str, colour: str = "") -> None:
        """A line of ours, which may quote others."""
        text = printable(text)
        self._write(f"{colour}{text}{RESET}\n" if self.colours and colour else f"{text}\n")

    def _wipe(self) -> None:
        if self._reading:
            self._reading = False
            self._write("\r\033[K")

    def _write(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()
