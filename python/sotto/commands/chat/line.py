"""Reads lines at the prompt: with editing, a history that lasts, and Tab for /commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

_LONGEST = 1000  # lines of history


def state_folder() -> Path:
    """Where this user's programs keep what they remember."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "sotto"
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home and os.path.isabs(home) else Path.home() / ".local" / "state") / "sotto"


class Lines:
    """The keyboard. Use it as a context manager: it reads the history, and writes it."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.path = state_folder() / "chat_history"
        self.readline = _readline()

    def __enter__(self) -> Lines:
        if self.readline is not None:
            self.readline.set_completer(self._complete)
            self.readline.set_completer_delims(" \t\n")
            libedit = "libedit" in (self.readline.__doc__ or "")
            self.readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
            with suppress(OSError, ValueError):  # there is none yet, or it is no history
                self.readline.read_history_file(self.path)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.readline is None:
            return
        self.readline.set_history_length(_LONGEST)
        with suppress(OSError):  # a home that cannot be written to is no reason to fail
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.readline.write_history_file(self.path)
            self.path.chmod(0o600)  # what somebody said to a model is theirs

    def read(self, prompt: str, colour: str = "") -> str:
        """One line. Raises `EOFError` at Ctrl-D, `KeyboardInterrupt` at Ctrl-C."""
        if colour:
            begin, end = ("\001", "\002") if self.readline is not None else ("", "")
            prompt = f"{begin}{colour}{end}{prompt}{begin}\033[0m{end}"
        return input(prompt)

    def _complete(self, text: str, state: int) -> str | None:
        found = [word for word in self.words if text.startswith("/") and word.startswith(text)]
        return found[state] + " " if state < len(found) else None


def _readline() -> ModuleType | None:
    try:
        import readline
    except ImportError:  # Windows: its console edits lines by itself
        return None
    return readline
