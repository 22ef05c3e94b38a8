"""Handles standard streams and Ctrl-C: a closed or full stream or an early Ctrl-C prints no traceback."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
from contextlib import suppress

from .. import _early
from . import screen

# Replacement of a closed stream: stdin reads nothing, writes to stdout fail, stderr discards its text.
_CLOSED = ((0, os.O_RDONLY, "stdin", "r"), (1, os.O_RDONLY, "stdout", "w"), (2, os.O_WRONLY, "stderr", "w"))


class _Heard(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        screen.complain(f"sotto: {record.getMessage()}")


def prepare() -> None:
    """Opens closed standard streams, and prints the messages of the "sotto" logger to stderr.

    Prints characters that a stream cannot encode as backslash escapes.
    """
    for fd, flags, name, mode in _CLOSED:
        try:
            os.fstat(fd)
        except OSError:
            opened = os.open(os.devnull, flags)  # the lowest free descriptor: usually `fd`
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
    """Makes Ctrl-C raise `KeyboardInterrupt` from now on. Commands handle that exception."""
    if _early.quiet:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave(status: int) -> int:
    """Flushes stdout and stderr. Returns `status`, or 1 in place of 0 if flushing stdout fails."""
    if _early.quiet:  # the command has ended: Ctrl-C may kill the process
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
