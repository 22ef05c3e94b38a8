"""`sotto models check`: opens each untrusted file in a separate child process."""

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
    """Result of checking a file. `why`: reason for any verdict but "sound". `details`: facts of the model."""

    path: str
    verdict: str
    why: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto models check` to `parser`."""
    parser.epilog = (
        "A file is sound if it opens and its model generates a token; the quality of its answers is not "
        "tested. Exit status: 0 if every file is sound, 1 if one is not, 2 if one could not be looked at."
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    types.add_limit_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def run(arguments: argparse.Namespace) -> int:
    """Checks each file. Returns 0 if all files are sound, 2 if a file is unreadable, else 1."""
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
    """Loads a file in a child process and generates one token.

    Args:
        path: the model file.
        timeout: time limit in seconds. None: depends on the file size.
        memory: memory limit in MB, enforced on Linux. None: depends on the file size.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a FIFO would block, a device might never end
            return Verdict(path, UNREADABLE, "the path is not a regular file")
        with open(path, "rb"):
            pass
    except OSError as error:
        return Verdict(path, UNREADABLE, error.strerror or str(error))
    limits = types.limits(path, timeout, memory)
    with _working(path):
        outcome = confined.call("check", {"path": os.path.abspath(path)}, limits)
    return Verdict(path, outcome.verdict, outcome.why, outcome.result or {})


def line(verdict: Verdict) -> str:
    """Formats a verdict as a line of text."""
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
