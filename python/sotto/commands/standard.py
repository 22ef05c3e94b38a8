"""The standard streams and Ctrl-C: closed, full or early ones end no command in a traceback."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
from contextlib import suppress

from .. import _early
from . import screen

# What a stream that is closed becomes: no input, output that fails, complaints that nobody hears.
_CLOSED = ((0, os.O_RDONLY, "stdin", "r"), (1, os.O_RDONLY, "stdout", "w"), (2, os.O_WRONLY, "stderr", "w"))


class _Heard(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        screen.complain(f"sotto: {record.getMessage()}")


def prepare() -> None:
    """Opens the streams that are closed, and prints what cannot be encoded as escapes."""
    for fd, flags, name, mode in _CLOSED:
        try:
            os.fstat(fd)
        except OSError:
            opened = os.open(os.devnull, flags)  # the lowest number that is free: `fd`
            if opened != fd:
                os.dup2(opened, fd)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, open(fd, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    log = logging.getLogger("sotto")
    if not log.handlers:
        log.addHandler(_Heard())
        log.propagate = False


def interruptible() -> None:
    """Has Ctrl-C raise `KeyboardInterrupt` from now on, which commands know how to end by."""
    if _early.quiet:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave(status: int) -> int:
    """Writes what is left to be written. Returns the exit status: 1 in place of 0 if it cannot be."""
    if _early.quiet:  # and now there is nothing left to end
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError) as error:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if stream is sys.stdout and status == 0:
                status = 1
                if not isinstance(error, BrokenPipeError):
                    screen.complain(f"sotto: the output cannot be written: {_why(error)}")
    return status


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
