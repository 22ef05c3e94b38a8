"""`sotto replay`: whether the decisions in a recording would be taken again."""

from __future__ import annotations

import argparse
import json

from ..recording import Replay, replay


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `sotto replay` understands."""
    parser.add_argument(
        "file", metavar="FILE", help="a recording, as `sotto demo --record FILE` or Engine(record=) write it"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Prints what came of it. Returns 1 if a decision came out otherwise."""
    done = replay(arguments.file)
    if arguments.json:
        print(json.dumps(done._asdict(), indent=2))
    else:
        show(done)
    return 0 if done.same == done.decisions else 1


def show(done: Replay) -> None:
    """Says it to people."""
    print(
        f"{done.decisions:,} decisions in {done.seconds:.1f} s: {done.streams:,} answers, "
        f"{done.models:,} models, {done.frames:,} frames; written by Sotto {done.version}"
    )
    print(f"{done.same:,} come out the same, {done.decisions - done.same:,} otherwise")
    if first := done.first_difference:
        print(f"the first in line {first['line']}, {first['what']}:")
        print(f"  recorded  {json.dumps(first['recorded'])}")
        print(f"  replayed  {json.dumps(first['replayed'])}")
