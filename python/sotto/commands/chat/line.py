"""Reads lines at the prompt, with editing, persistent history, and Tab completion of /commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .. import history, screen

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer


class Lines:
    """Line input from the keyboard. A context manager: reads the history on entry, writes it on exit."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.path = history.path("chat_history")
        self._session: PromptSession[str] | None = None  # None where stdin and stdout are not a terminal

    def __enter__(self) -> Lines:
        if sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
            self._session = _session(self.words, history.read(self.path))
        return self

    def __exit__(self, *exc: object) -> None:
        if self._session is not None and (lines := self._session.history.get_strings()):
            history.write(self.path, lines)

    def read(self, prompt: str, colour: str = "") -> str:
        """Reads one line. Raises `EOFError` on Ctrl-D, `KeyboardInterrupt` on Ctrl-C."""
        if self._session is None:
            return _read_plain(f"{colour}{prompt}\033[0m" if colour else prompt)
        from prompt_toolkit.formatted_text import ANSI

        # With a colour, even the default one (39), the space at the prompt's end is written, not skipped.
        return self._session.prompt(ANSI(f"{colour}\033[39m{prompt}\033[0m"))


def _read_plain(prompt: str) -> str:
    try:
        return input(prompt)
    except (EOFError, KeyboardInterrupt):
        screen.say(flush=True)  # leaves the line of the prompt
        raise


def _session(words: Sequence[str], lines: Sequence[str]) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.output import create_output
    from prompt_toolkit.output.vt100 import Vt100_Output
    from prompt_toolkit.shortcuts import CompleteStyle

    output = create_output()
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False  # its cursor query would delay terminals that do not answer it
    return PromptSession(
        completer=_completer(words),
        complete_style=CompleteStyle.READLINE_LIKE,
        enable_suspend=True,
        history=InMemoryHistory(lines),
        output=output,
    )


def _completer(words: Sequence[str]) -> Completer:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class Commands(Completer):
        """Completes /commands, each with the space after it."""

        def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
            text = document.get_word_before_cursor(WORD=True)
            for word in words:
                if text.startswith("/") and word.startswith(text):
                    yield Completion(word + " ", start_position=-len(text))

    return Commands()
