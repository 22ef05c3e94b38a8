"""`sotto replay`: replays a recording and compares each scheduling decision with the recorded one."""

from __future__ import annotations

import argparse
import json

from ..recording import Replay, replay
from . import screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto replay` to `parser`."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a recording, as `sotto demo --record FILE` or Engine(record_path=) write it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Prints the result of the replay. Returns 1 if any decision differs from the recorded one, else 0."""
    done = replay(arguments.file)
    if arguments.json:
        screen.say(screen.dump(done._asdict()))
    else:
        show(done)
    return 0 if done.same == done.decisions else 1


def show(done: Replay) -> None:
    """Prints the result of a replay as text."""
    screen.say(
        f"{done.decisions:,} decisions in {done.seconds:.1f} s: {done.streams:,} answers, "
        f"{done.models:,} models, {done.frames:,} frames; written by Sotto {done.version}"
    )
    if done.cut:
        screen.say("its last line is not whole, and was left out: the process ended while it wrote")
    screen.say(f"{done.same:,} come out the same, {done.decisions - done.same:,} otherwise")
    if first := done.first_difference:
        screen.say(f"the first in line {first['line']}, {first['what']}:")
        screen.say(f"  recorded  {json.dumps(first['recorded'])}")
        screen.say(f"  replayed  {json.dumps(first['replayed'])}")
