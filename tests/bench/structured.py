"""What a JSON schema costs: decode speed with a schema over decode speed without one.

A 110 M model decodes the same prompts with and without a schema: one stream and eight, greedy and sampled.
The two ways take turns in one engine; an overhead is the median of the ratios of each turn. The weights are
random, so the model's own choice is rarely one that the schema allows: the worst case.

    structured.py --build build/check/release
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from commands import given, said
from machine import processor, undisturbed
from models import Model, model

CORES = os.cpu_count() or 1
STREAMS = (1, 8)
TEMPERATURES = {"greedy": 0.0, "sampled": 0.8}
LIMITS = {"overhead": 0.95}  # at least


def run(arguments: argparse.Namespace, one: Model, words: Path, streams: int, way: str, patient: bool) -> Any:
    """One run: the speeds of each turn."""
    size = given(streams=streams, tokens=arguments.tokens, turns=arguments.turns)
    setting = given(model=one.path, words=words, temperature=TEMPERATURES[way])
    return said([arguments.build / "bench" / "sotto_bench_structured", *size, *setting])


def row(told: list[Any], streams: int, way: str) -> dict[str, Any]:
    """What several runs come to: medians."""
    plain = [tps for one in told for tps in one["plain_tps"]]
    schema = [tps for one in told for tps in one["schema_tps"]]
    ratios = [held / free for held, free in zip(schema, plain, strict=True)]
    return {
        "streams": streams,
        "choice": way,
        "plain_tps": round(statistics.median(plain), 1),
        "schema_tps": round(statistics.median(schema), 1),
        "overhead": round(statistics.median(ratios), 3),
        "turns": len(ratios),
    }


def measure(arguments: argparse.Namespace, name: str, folder: Path) -> list[dict[str, Any]]:
    """All rows of one model."""
    one = model(name)
    words = one.write_words(folder)
    cases = [(streams, way) for way in arguments.choices.split(",") for streams in STREAMS]
    told: dict[tuple[int, str], list[Any]] = {case: [] for case in cases}
    others_pct = 0.0
    for turn in range(arguments.rounds):
        for streams, way in cases if turn % 2 == 0 else reversed(cases):
            once = partial(run, arguments, one, words, streams, way)
            speeds, others = undisturbed(once, arguments.patience)
            others_pct = max(others_pct, others)
            told[streams, way].append(speeds)
            print(name, row([speeds], streams, way), f"others {others} %", file=sys.stderr, flush=True)
    return [{"model": name, **row(told[case], *case), "others_pct": others_pct} for case in cases]


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--models", default="110m", help="which: 110m, 1b (110m)")
    parser.add_argument("--choices", default="greedy,sampled", help="which: greedy, sampled (both)")
    parser.add_argument("--rounds", type=int, default=3, help="more of them are more exact (3)")
    parser.add_argument("--turns", type=int, default=7, help="of both ways in a round (7)")
    parser.add_argument("--tokens", type=int, default=128, help="of an answer (128)")
    parser.add_argument(
        "--patience", type=float, default=60, help="seconds to wait for a machine at rest, per run (60)"
    )
    parser.add_argument("--quick", action="store_true", help="one round, no patience")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.turns, arguments.patience = 1, 5, 0
    rows = []
    for name in arguments.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(arguments, name, Path(folder))
    overhead = min(one["overhead"] for one in rows)
    broken = [f"overhead {overhead}, at least {LIMITS['overhead']}"] if overhead < LIMITS["overhead"] else []
    setting = {"tokens": arguments.tokens, "cores": CORES, "processor": processor()}
    told = {"overhead": overhead, "rows": rows, "setting": setting, "limits": LIMITS, "broken": broken}
    print(json.dumps({**told, "ok": not broken}, indent=None if arguments.json else 2))
    return 0 if not broken else 1


if __name__ == "__main__":
    sys.exit(main())
