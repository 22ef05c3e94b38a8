"""Sources of typed lines: a terminal that is read key by key, or stdin read line by line."""

from __future__ import annotations

import codecs
import os
import queue
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..commands import history
from ..errors import ArgumentError

if TYPE_CHECKING:
    from .editor import Editor

_MOMENT = 0.2  # seconds to wait for the end of an empty stdin


class Bytes:
    """Input from stdin. A background thread reads it, so that no frame blocks on it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.ended = False
        self._arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        threading.Thread(target=self._read, name="sotto-demo-stdin", daemon=True).start()

    def take(self) -> str:
        """Returns the text that arrived since the last call. Never blocks."""
        text = ""
        while not self.ended:
            try:
                arrived = self._arrived.get_nowait()
            except queue.Empty:
                break
            self.ended = not arrived
            text += self._decode(arrived, final=self.ended)
        return text

    def _read(self) -> None:
        arrived = b"?"
        while arrived:
            try:
                arrived = os.read(self.fd, 65536)
            except OSError:  # the terminal was closed
                arrived = b""
            self._arrived.put(arrived)


class Source:
    """A source of typed lines. Use it as a context manager."""

    editor: Editor | None = None  # set for a keyboard only

    def __init__(self, arriving: Bytes) -> None:
        self._bytes = arriving
        self._terminal = os.isatty(arriving.fd)
        self._lines: list[str] = []
        self._rest = ""
        self.spoke = False  # true after the first line

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    @property
    def ended(self) -> bool:
        """True if no more lines will come."""
        return self._bytes.ended and not self._lines

    def take(self, *, quiet: bool) -> list[str]:
        """Returns the next line if `quiet` (no character speaks), else an empty list.

        Piped lines arrive all at once, so this method holds each line back until the last answer is complete.
        """
        self._hear()
        return [self._lines.pop(0)] if quiet and self._lines else []

    def silent(self, seconds: float = 0.0) -> bool:
        """Returns true if the input ended without any line, or does so within `seconds`.

        Always returns false for a terminal. Blocks for at most `seconds`.
        """
        until = time.monotonic() + seconds
        while True:
            self._hear()
            if self._bytes.ended or self._lines or time.monotonic() >= until:
                return self._bytes.ended and not self.spoke and not self._terminal
            time.sleep(0.005)

    def _hear(self) -> None:
        *lines, self._rest = (self._rest + self._bytes.take()).split("\n")
        if self._bytes.ended and self._rest:
            lines, self._rest = [*lines, self._rest], ""
        self._lines += [line.strip() for line in lines if line.strip()]
        self.spoke = self.spoke or bool(self._lines)


class Keyboard(Source):
    """Reads a terminal key by key. Restores the terminal settings on exit."""

    def __init__(self, arriving: Bytes, words: Sequence[str]) -> None:
        super().__init__(arriving)
        from .editor import Editor  # imports prompt_toolkit, which takes a moment

        self.path = history.path("demo_history")
        self.editor: Editor = Editor(words, history.read(self.path))
        self._before: list[Any] = []

    def __enter__(self) -> Keyboard:
        import termios

        self._before = termios.tcgetattr(self._bytes.fd)
        now = termios.tcgetattr(self._bytes.fd)
        now[0] &= ~termios.IXON  # otherwise Ctrl-S would block the output and with it the frames
        now[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
        termios.tcsetattr(self._bytes.fd, termios.TCSADRAIN, now)
        return self

    def __exit__(self, *exc: object) -> None:
        import termios

        termios.tcsetattr(self._bytes.fd, termios.TCSADRAIN, self._before)
        history.write(self.path, self.editor.history)

    @property
    def ended(self) -> bool:
        """True if Ctrl-D was typed, or if the terminal was closed."""
        return self._bytes.ended or self.editor.left

    def take(self, *, quiet: bool) -> list[str]:
        """Returns the lines that were completed since the last call."""
        return self.editor.feed(typed) if (typed := self._bytes.take()) else []


def listen(words: Sequence[str], *, keys: bool) -> Source:
    """Returns the source of typed lines on stdin.

    Args:
        words: words that Tab completes.
        keys: reads key by key if stdin is a terminal and the system has termios.

    Raises:
        ArgumentError: stdin is closed, or is not a terminal and ends without a line.
    """
    fd = _stdin()
    if fd is not None:
        arriving = Bytes(fd)
        if keys and os.isatty(fd) and _has_termios():
            return Keyboard(arriving, words)
        source = Source(arriving)
        if not source.silent(0.0 if os.isatty(fd) else _MOMENT):
            return source
    raise nobody()


def nobody() -> ArgumentError:
    """Returns the error for a stdin that is not a terminal and contains no line."""
    return ArgumentError(
        "--talk has no input: stdin is not a terminal and contains no line; run the command in a terminal, "
        "or pipe lines, like: echo 'Brenna, what news?' | sotto demo --talk"
    )


def _stdin() -> int | None:
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # stdin is missing or closed
        return None


def _has_termios() -> bool:
    try:
        import termios  # noqa: F401  # missing on Windows, where input is read line by line
    except ImportError:
        return False
    return True
