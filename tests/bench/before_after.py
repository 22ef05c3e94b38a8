"""Compares the speeds of two builds: runs each quick bench on both in turn.

    before_after.py --before OTHER/build/check/release --after build/check/release

A figure's ratio is over 1 if the later build is better; it is the median of the turns' ratios, whose two runs
follow one another. Figures of peers are left out, as are those that are no speeds, which have limits in their
own benches.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from machine import processor, undisturbed

HERE = Path(__file__).parent
BENCHES = ("decode", "many_npcs", "frames", "pacing", "budget")
HIGHER = re.compile(r"(?<!peer)(_tps|tokens_per_s|\.ours)$")
LOWER = re.compile(r"(first|others|at_once|apart|early|late|cut|unpark|prefill|close)_ms$|lowering_ms\.p50$")
SPEED = re.compile(f"{HIGHER.pattern}|{LOWER.pattern}")
PEERS = re.compile(r"peer|llama_server|\.(same|stock)_")
LEAST = 0.97


def figures(found: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yields the speeds of a report by their paths."""
    if isinstance(found, dict):
        for name, value in found.items():
            yield from figures(value, f"{path}.{name}" if path else name)
    elif isinstance(found, list):
        for at, value in enumerate(found):
            yield from figures(value, f"{path}.{at}")
    elif isinstance(found, int | float) and found > 0 and SPEED.search(path) and not PEERS.search(path):
        yield path, float(found)


def measured(bench: str, build: Path, patience_s: float) -> dict[str, float]:
    """Returns the speeds of one run. A bench that breaks a limit of its own reports them all the same."""
    command = [sys.executable, str(HERE / f"{bench}.py"), "--quick", "--json", "--build", str(build)]

    def run(_: bool) -> str:
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout

    printed, _ = undisturbed(run, patience_s)
    return {f"{bench}: {path}": value for path, value in figures(json.loads(printed))}


def compared(before: Path, after: Path, turns: int, patience_s: float) -> dict[str, list[float]]:
    """Returns each figure's ratios, one of each turn."""
    ratios: dict[str, list[float]] = {}
    for turn in range(turns):
        for bench in BENCHES:
            order = (before, after) if turn % 2 == 0 else (after, before)
            found = {build: measured(bench, build, patience_s) for build in order}
            for name in found[before].keys() & found[after].keys():
                ratio = found[after][name] / found[before][name]
                ratios.setdefault(name, []).append(ratio if HIGHER.search(name) else 1 / ratio)
            print(f"turn {turn + 1}: {bench}", file=sys.stderr)
    return ratios


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--before", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--after", type=Path, required=True, help="the same of a later one")
    parser.add_argument("--turns", type=int, default=5, help="more of them are more exact (5)")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for rest (60)")
    asked = parser.parse_args()
    ratios = compared(asked.before.resolve(), asked.after.resolve(), asked.turns, asked.patience)
    medians = {name: round(statistics.median(row), 3) for name, row in sorted(ratios.items())}
    worse = [name for name, ratio in medians.items() if ratio < LEAST]
    report = {
        "least_ratio": min(medians.values()),
        "ratios": medians,
        "turns": asked.turns,
        "setting": {"processor": processor()},
        "limits": {"least_ratio": LEAST},
        "worse": worse,
        "ok": not worse,
    }
    print(json.dumps(report, indent=None if asked.json else 1))
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
