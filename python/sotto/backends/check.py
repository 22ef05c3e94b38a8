"""Checks a backend against its contract: `python -m sotto.backends.check my_module:MyBackend`.

Each case runs in a process of its own, so that a backend that crashes or never returns fails one case alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence

from ..commands.screen import say
from ._cases import CASES, Failed, Target

SECONDS = 30  # that one case may take


def outcome(target: Target, name: str, seconds: float) -> str:
    """Runs one case in a process of its own. Returns why it failed; "" if it passed."""
    command = [sys.executable, "-m", "sotto.backends.check", "--case", name, target.dump()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"did not end within {seconds:g} s"
    if done.returncode == 0:
        return ""
    said = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    if done.returncode == 1 and said:
        return said[-1].removeprefix("FAILED ").strip()
    last = (done.stderr.strip().splitlines() or ["no output"])[-1]
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
    return f"the process ended with {how}: {last}"


def run_case(name: str, target: Target) -> int:
    """Runs one case here, in the process that is its own."""
    try:
        CASES[name](target)
    except Failed as failure:
        say(f"FAILED {failure}")
        return 1
    return 0


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        "python -m sotto.backends.check",
        description="Checks a backend against the contract of sotto/module.h",
    )
    parser.add_argument(
        "backend", nargs="?", help="MODULE:CLASS of a sotto.backends.Backend, or the name of one in --modules"
    )
    parser.add_argument("--modules", metavar="DIR", help="check a backend in C: a module in this folder")
    parser.add_argument("--model", default="-", metavar="PATH", help="what its models are opened from")
    parser.add_argument("--options", default="{}", metavar="JSON", help="load options of the model")
    parser.add_argument("--body", default="{}", metavar="JSON", help="fields that every request has")
    parser.add_argument("--only", nargs="+", metavar="CASE", choices=CASES, help="these cases alone")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that one case may take (%(default)s)")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object: each case and why it failed"
    )
    parser.add_argument("--list", action="store_true", help="name the cases")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs from the command line. Exit status: 0 if every case passed, else 1."""
    args = arguments(argv)
    if args.case:
        return run_case(args.case[0], Target.load(args.case[1]))
    if args.list or args.backend is None:
        say("\n".join(f"{name:16}{case.__doc__}" for name, case in CASES.items()))
        return 0 if args.list else 2
    fields = {name: json.loads(getattr(args, name)) for name in ("options", "body")}
    target = Target(args.backend, args.model, args.modules, **fields)
    failures = {}
    for name in args.only or CASES:
        began = time.monotonic()
        failures[name] = outcome(target, name, args.seconds)
        if not args.json:
            said = f"FAILED  {name}: {failures[name]}" if failures[name] else f"ok      {name}"
            say(f"{said}  ({time.monotonic() - began:.1f} s)", flush=True)
    if args.json:
        say(json.dumps(failures))
    failed = sum(map(bool, failures.values()))
    if not args.json:
        say(f"{len(failures) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
