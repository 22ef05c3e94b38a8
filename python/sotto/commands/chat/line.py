"""Reads lines at the prompt, with editing, persistent history, and Tab completion of /commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

_LONGEST = 1000  # lines of history


def state_folder() -> Path:
    """Returns Sotto's folder for persistent state of the current user, such as history files."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "sotto"
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home and os.path.isabs(home) else Path.home() / ".local" / "state") / "sotto"


class Lines:
    """Line input from the keyboard. A context manager: reads the history on entry, writes it on exit."""

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
            with suppress(OSError, ValueError):  # the file does not exist yet, or is not a history file
                self.readline.read_history_file(self.path)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.readline is None:
            return
        self.readline.set_history_length(_LONGEST)
        with suppress(OSError):  # a read-only home folder is not an error
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.readline.write_history_file(self.path)
            self.path.chmod(0o600)  # private to the user

    def read(self, prompt: str, colour: str = "") -> str:
        """Reads one line. Raises `EOFError` on Ctrl-D, `KeyboardInterrupt` on Ctrl-C."""
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
    except ImportError:  # Windows: the console edits lines itself
        return None
    return readline
