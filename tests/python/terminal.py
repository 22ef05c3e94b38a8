"""A terminal with a `sotto` command in it: type, and wait for what it shows."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

from conftest import ENVIRONMENT

_START = """
import fcntl, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C reaches it
signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever runs the tests may ignore
from sotto.cli import main
sys.exit(main())
"""
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)")


class Terminal:
    """Runs `sotto WORDS` in a pseudo-terminal of 100 columns. Use it as a context manager.

    `stdout`: a file that gets the output instead; stdin and stderr stay the terminal.
    """

    def __init__(self, *words: str, stdout: Path | None = None, **variables: str) -> None:
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        environment = {**ENVIRONMENT, "TERM": "xterm-256color", **variables}
        environment.pop("NO_COLOR", None)
        out = its if stdout is None else os.open(stdout, os.O_WRONLY | os.O_CREAT)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, *words],
            stdin=its, stdout=out, stderr=its, env=environment, start_new_session=True,
        )  # fmt: skip
        for passed_on in {its, out}:
            os.close(passed_on)
        self._fd = ours
        self.raw = ""  # everything shown
        self._seen = 0  # how much of it was expected already

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc: Any) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._fd)

    def type(self, text: str) -> None:
        """Keys, `\\r` being Enter and `\\x03` Ctrl-C."""
        time.sleep(0.1)  # a prompt is shown a moment before a signal is heard
        os.write(self._fd, text.encode())

    def expect(self, pattern: str, timeout: float = 20) -> str:
        """Waits for new text that matches. Returns what was shown up to its end, without escapes."""
        end = time.monotonic() + timeout
        while True:
            plain = _ESCAPES.sub("", self.raw[self._seen :])
            if found := re.search(pattern, plain):
                self._seen = len(self.raw)
                return plain[: found.end()]
            left = end - time.monotonic()
            assert left > 0, f"{pattern!r} did not come; there is {plain!r}"
            self._read(left)

    def leave(self, timeout: float = 20) -> int:
        """Waits for the end. Returns the exit status."""
        end = time.monotonic() + timeout
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it goes on; there is {self.raw!r}"
            self._read(0.05)
        return self.process.returncode

    def _read(self, timeout: float) -> None:
        if select.select([self._fd], [], [], timeout)[0]:
            try:
                self.raw += os.read(self._fd, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                time.sleep(0.01)
