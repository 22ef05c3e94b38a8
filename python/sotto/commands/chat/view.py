"""Output of a chat: the streamed answer, and notes about it. Uses colours on a terminal only."""

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
    """Writes answers and notes to `out`, by default stdout."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.terminal = self.out.isatty()
        self.colours = self.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._kind = ""
        self._wrap: Wrap | None = None  # line wrapping of the current answer
        self._begun = False  # whether the current kind of text has printed anything yet
        self._reading = False  # whether a prefill progress note is on the screen

    def reading(self, done: float) -> None:
        """Shows the progress of the prefill, from 0 to 1. The first text of the answer erases it."""
        if self.colours:
            self._reading = True
            self._write(f"\r{DIM}reading {done:4.0%}{RESET}")

    def hear(self, kind: str, words: str) -> None:
        """Writes new text of the answer. `kind`: "text" or "reasoning".

        Dims reasoning on terminals with colours, and ends it with a blank line.
        """
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
        """Ends an answer. Notes dropped messages, a stop by Ctrl-C, or a cut at the token limit."""
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
        """Writes a dimmed note that is not part of the conversation."""
        self.line(text, DIM)

    def wrong(self, text: str) -> None:
        """Writes an error in red."""
        self.line(text, RED)

    def line(self, text: str, colour: str = "") -> None:
        """Writes a line, with control characters replaced because it may quote untrusted text."""
        text = printable(text)
        self._write(f"{colour}{text}{RESET}\n" if self.colours and colour else f"{text}\n")

    def _wipe(self) -> None:
        if self._reading:
            self._reading = False
            self._write("\r\033[K")

    def _write(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()
