"""Line editor: takes keys, returns complete lines. Decodes terminal key sequences, but does no I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence

_KEYS = {
    "[A": "up", "OA": "up", "[B": "down", "OB": "down", "[C": "right", "OC": "right", "[D": "left",
    "OD": "left", "[H": "home", "OH": "home", "[1~": "home", "[F": "end", "OF": "end", "[4~": "end",
    "[3~": "delete", "\x01": "home", "\x05": "end", "\x02": "left", "\x06": "right", "\x10": "up",
    "\x0e": "down", "\x08": "back", "\x7f": "back", "\x0b": "kill", "\x15": "clear", "\x17": "word",
    "\x04": "leave", "\t": "complete", "\r": "enter", "\n": "enter",
}  # fmt: skip
_SEQUENCE = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|O.|[^\[O])", re.S)
_BEGUN = re.compile(r"\x1b(\[[0-9;?]*[ -/]*|O)?$")


class Editor:
    """Editor state: the current line, the cursor position and the history."""

    def __init__(self, words: Sequence[str], history: Sequence[str] = ()) -> None:
        self.words = words  # words that Tab completes at the start of the line
        self.history = list(history)
        self.text, self.cursor = "", 0
        self.left = False  # true after Ctrl-D in an empty line
        self._rest = ""  # incomplete key sequence
        self._at = len(self.history)
        self._draft = ""  # text typed before browsing the history

    def feed(self, typed: str) -> list[str]:
        """Handles typed characters. Returns the lines that were completed with Enter."""
        lines = []
        for key in self._keys(typed):
            name = _KEYS.get(key)
            if name == "enter":
                lines.append(self._enter())
            elif name is not None:
                getattr(self, f"_{name}")()
            elif key.isprintable() and len(key) == 1:
                self._insert(key)
        return lines

    def _keys(self, typed: str) -> list[str]:
        text, keys = self._rest + typed, []
        self._rest = ""
        while text:
            if _BEGUN.match(text):
                self._rest = text
                break
            found = _SEQUENCE.match(text)
            keys.append(found[1] if found else text[0])
            text = text[found.end() if found else 1 :]
        return keys

    def _insert(self, text: str) -> None:
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def _enter(self) -> str:
        line = self.text.strip()
        if line and self.history[-1:] != [line]:
            self.history.append(line)
        self._at, self._draft = len(self.history), ""
        self._clear()
        return line

    def _show(self, text: str) -> None:
        self.text, self.cursor = text, len(text)

    def _up(self) -> None:
        if self._at > 0:
            if self._at == len(self.history):
                self._draft = self.text
            self._at -= 1
            self._show(self.history[self._at])

    def _down(self) -> None:
        if self._at < len(self.history):
            self._at += 1
            self._show(self.history[self._at] if self._at < len(self.history) else self._draft)

    def _left(self) -> None:
        self.cursor = max(0, self.cursor - 1)

    def _right(self) -> None:
        self.cursor = min(len(self.text), self.cursor + 1)

    def _home(self) -> None:
        self.cursor = 0

    def _end(self) -> None:
        self.cursor = len(self.text)

    def _back(self) -> None:
        if self.cursor:
            self.cursor -= 1
            self._delete()

    def _delete(self) -> None:
        self.text = self.text[: self.cursor] + self.text[self.cursor + 1 :]

    def _kill(self) -> None:
        self.text = self.text[: self.cursor]

    def _clear(self) -> None:
        self._show("")

    def _word(self) -> None:
        head = re.sub(r"\S*\s*$", "", self.text[: self.cursor])
        self.text, self.cursor = head + self.text[self.cursor :], len(head)

    def _leave(self) -> None:
        if self.text:
            self._delete()
        else:
            self.left = True

    def _complete(self) -> None:
        typed = self.text[: self.cursor]
        found = [word for word in self.words if typed and word.casefold().startswith(typed.casefold())]
        if len(found) == 1:
            self.text, self.cursor = found[0] + self.text[self.cursor :], len(found[0])
