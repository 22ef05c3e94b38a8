"""`sotto models check`: opens files that nobody vouches for, each in a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import arguments as types
from .. import progress
from ..text import amount, size

SOUND, REFUSED, CRASHED, TIMEOUT, UNREADABLE = "sound", "refused", "crashed", "timeout", "unreadable"
_CHILD = "sotto.commands.models.child"


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
    parser.add_argument(
        "--timeout", type=types.seconds, default=600.0, metavar="S", help="seconds for each file (600)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def run(arguments: argparse.Namespace) -> int:
    """Checks each file. Returns the exit status."""
    verdicts = []
    for path in arguments.files:
        verdict = examine(path, arguments.timeout)
        verdicts.append(verdict)
        if not arguments.json:
            print(line(verdict), flush=True)
    if arguments.json:
        print(json.dumps([asdict(verdict) for verdict in verdicts], ensure_ascii=False, indent=2))
    if any(verdict.verdict == UNREADABLE for verdict in verdicts):
        return 2
    return 0 if all(verdict.verdict == SOUND for verdict in verdicts) else 1


def examine(path: str, timeout: float) -> Verdict:
    """Opens a file in a child process, and has the model say one word."""
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError as error:
        return Verdict(path, UNREADABLE, error.strerror or str(error))
    command = [sys.executable, "-m", _CHILD, os.path.abspath(path)]
    with _working(path):
        try:
            done = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return Verdict(path, TIMEOUT, f"it takes longer than {timeout:g} seconds")
    return _judge(path, done.returncode, done.stdout, done.stderr)


def line(verdict: Verdict) -> str:
    """A verdict for people."""
    if verdict.verdict != SOUND:
        return f"{verdict.path}: {verdict.verdict}: {verdict.why}"
    details = verdict.details
    what = f"{details.get('architecture', '?')}, {amount(details.get('parameters', 0))} parameters"
    return f"{verdict.path}: sound: {what}, {details.get('quantization', '?')}, {size(details['bytes'])}"


def _judge(path: str, status: int, out: bytes, errors: bytes) -> Verdict:
    try:
        said = json.loads(out)
        return Verdict(path, said["verdict"], said["why"], said["details"])
    except (ValueError, KeyError):
        pass  # it did not come to say anything
    last = next((text for text in reversed(errors.decode(errors="replace").splitlines()) if text.strip()), "")
    how = f"exit status {status}"
    if status < 0:
        try:
            how = signal.Signals(-status).name
        except ValueError:
            how = f"signal {-status}"
    return Verdict(path, CRASHED, f"{how}; {last.strip()}" if last else how)


def _working(path: str) -> Any:
    if not progress.shown():
        return nullcontext()
    from rich.console import Console
    from rich.markup import escape

    return Console(stderr=True).status(f"checking {escape(path)}")
