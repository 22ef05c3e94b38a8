"""`sotto models check`: opens files that nobody vouches for, each in a process of its own."""

from __future__ import annotations

import argparse
import os
import stat
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import arguments as types
from .. import confined, progress, screen
from ..text import amount, size

SOUND, UNREADABLE = confined.SOUND, "unreadable"


@dataclass
class Verdict:
    """What is to be thought of a file."""

    path: str
    verdict: str
    why: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `sotto models check` understands."""
    parser.epilog = (
        "A file is sound if it opens and its model says a word; whether that is the right word, nobody can "
        "tell. Exit status: 0 if every file is sound, 1 if one is not, 2 if one could not be looked at."
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    types.add_limit_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def run(arguments: argparse.Namespace) -> int:
    """Checks each file. Returns the exit status."""
    verdicts = []
    for path in arguments.files:
        verdict = examine(path, arguments.timeout, arguments.memory)
        verdicts.append(verdict)
        if not arguments.json:
            screen.say(line(verdict), flush=True)
    if arguments.json:
        screen.say(screen.dump([asdict(verdict) for verdict in verdicts]))
    if any(verdict.verdict == UNREADABLE for verdict in verdicts):
        return 2
    return 0 if all(verdict.verdict == SOUND for verdict in verdicts) else 1


def examine(path: str, timeout: float | None = None, memory: int | None = None) -> Verdict:
    """Opens a file in a child process, and has the model say one word. `memory`: in MB."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a FIFO would wait, reading a device never end
            return Verdict(path, UNREADABLE, "it is not a regular file")
        with open(path, "rb"):
            pass
    except OSError as error:
        return Verdict(path, UNREADABLE, error.strerror or str(error))
    limits = types.limits(path, timeout, memory)
    with _working(path):
        outcome = confined.call("check", {"path": os.path.abspath(path)}, limits)
    return Verdict(path, outcome.verdict, outcome.why, outcome.result or {})


def line(verdict: Verdict) -> str:
    """A verdict for people."""
    if verdict.verdict != SOUND:
        return f"{verdict.path}: {verdict.verdict}: {verdict.why}"
    details = verdict.details
    what = f"{details.get('architecture', '?')}, {amount(details.get('parameters', 0))} parameters"
    return f"{verdict.path}: sound: {what}, {details.get('quantization', '?')}, {size(details['bytes'])}"


def _working(path: str) -> Any:
    if not progress.shown():
        return nullcontext()
    from rich.markup import escape

    return screen.console(stderr=True).status(f"checking {escape(path)}")
