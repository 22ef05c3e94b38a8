"""`sotto.runner` beside mistralrs of the package index, the same requests in a process of each, in turn.

Of each model: speed of one stream after its first token, of four chats at once, time to the first token of a
prompt of 512 tokens, and a switch: unload a model, then ask it for a token. mistralrs cannot load a GGUF file
again that it has unloaded; there, a switch is a new `Runner` and its first token. Ratios are ours to theirs,
medians over runs that followed each other. Prints one JSON object, with `broken`: the limits not kept.

    runner.py --build build/check/release --json
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import peers
from machine import Busy, processor
from models import Model, model
from peers import ROOT
from sides import Ask, side, words

SIDE = Path(__file__).with_name("runner_side.py")
THEIRS = "mistralrs==0.9.5"
ANSWER, PROMPT, LINE = 64, 512, 24  # tokens of an answer, words of the rest
LIMITS = {
    "decode_ratio": (">=", 1.5),
    "aggregate_ratio": (">=", 3.0),
    "ttft_ratio": ("<=", 0.7),
    "switch_ratio": ("<=", 0.5),
}
Seen = dict[str, list[dict[str, dict[str, Any]]]]


def start(python: str, module: str, path: Path, threads: int) -> AbstractContextManager[Ask]:
    """Starts a side, without what it logs."""
    counts = {"OMP_NUM_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads)}
    command = [python, str(SIDE), module, str(path)]
    return side(command, module, stderr=subprocess.DEVNULL, env={**os.environ, **counts})


def questions(one: Model, chance: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields what each side is asked for in a run: the name, and the arguments."""
    story = f"Tell me a long story of {words(one, chance, LINE)}."
    yield "decode", {"do": "chat", "said": story, "tokens": ANSWER}
    yield "first", {"do": "chat", "said": words(one, chance, PROMPT), "tokens": 2}
    lines = [words(one, chance, LINE) for _ in range(4)]
    yield "together", {"do": "together", "lines": lines, "tokens": ANSWER}


def switched(sides: dict[str, tuple[str, str]], one: Model, threads: int) -> dict[str, dict[str, Any]]:
    """Returns the seconds of a switch of each side."""
    with start(*sides["ours"], one.path, threads) as ask:
        ours = ask("loaded", said="Hello")["seconds"]
    with start(*sides["theirs"], one.path, threads) as ask:
        theirs = ask("opened")["seconds"] + ask("chat", said="Hello", tokens=1)["first"]
    return {"ours": {"seconds": ours}, "theirs": {"seconds": theirs}}


def compared(one: Model, theirs: str, threads: int, runs: int) -> dict[str, float]:
    """Returns the figures of a model."""
    seen: Seen = {}
    sides = {"ours": (sys.executable, "sotto.runner"), "theirs": (theirs, "mistralrs")}
    with ExitStack() as stack:
        asks = {who: stack.enter_context(start(*of, one.path, threads)) for who, of in sides.items()}
        for run in range(-1, runs):  # the first one warms up
            for name, asked in questions(one, random.Random(run)):
                order = random.Random(f"{run} {name}").sample(list(asks), 2)
                found = {who: asks[who](**asked) for who in order}
                if run >= 0:
                    seen.setdefault(name, []).append(found)
    seen["switch"] = [switched(sides, one, threads) for _ in range(runs)]
    figures: dict[str, tuple[str, Callable[[dict[str, Any]], float]]] = {
        "decode": ("decode", lambda told: (told["tokens"] - 1) / told["seconds"]),
        "aggregate": ("together", lambda told: told["tokens"] / told["seconds"]),
        "ttft": ("first", lambda told: told["first"]),
        "switch": ("switch", lambda told: told["seconds"]),
    }
    told: dict[str, float] = {}
    for name, (what, figure) in figures.items():
        pairs = [(figure(run["ours"]), figure(run["theirs"])) for run in seen[what]]
        told[f"{name}_ratio"] = round(statistics.median(ours / other for ours, other in pairs), 3)
        for at, who in enumerate(("ours", "theirs")):
            told[f"{name}_{who}"] = round(statistics.median(pair[at] for pair in pairs), 4)
    return told


def broken(report: dict[str, Any]) -> list[str]:
    """Returns the limits that are not kept, in words."""
    return [
        f"{name}: {figure} is {figures[figure]}, expected {sign} {limit}"
        for name, figures in report["models"].items()
        for figure, (sign, limit) in LIMITS.items()
        if not (figures[figure] >= limit if sign == ">=" else figures[figure] <= limit)
    ]


def main() -> int:
    """Measures and prints. Returns 1 if a limit is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "check" / "release")
    parser.add_argument("--models", default="house,110m")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", action="store_true", help="on one line")
    given = parser.parse_args()
    os.environ.setdefault("SOTTO_LIBRARY", str((given.build / "out" / "libsotto.so").resolve()))
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    theirs, busy = str(peers.environment("mistralrs", THEIRS)), Busy()
    report: dict[str, Any] = {"processor": processor(), "threads": given.threads, "runs": given.runs}
    report["models"] = {
        name: compared(model(name), theirs, given.threads, given.runs) for name in given.models.split(",")
    }
    report |= {"others_pct": round(busy.others_pct(), 1), "broken": broken(report)}
    print(json.dumps(report, indent=None if given.json else 2))
    return 1 if report["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
