"""How near prefill and batched decode come to what the processor can do.

A probe measures multiply-adds of 8-bit integers in registers and bytes read from memory, on all cores. The
least time of a step is the larger of two: its multiply-adds, and the bytes of the weights, each at that rate;
attention, norms and sampling come on top, so 1.0 is out of reach. Prefill reads 512 tokens, decode writes in
eight streams. Probe and model take turns; a share is the median of those of each turn.

    limits.py --build build/check/release
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Any

from commands import given, said
from machine import processor, wait_for_rest
from models import Model, model, weights

CORES = os.cpu_count() or 1
PROMPT, STREAMS, TOKENS = 512, 8, 64
LIMITS = {"prefill_of_limit": 0.7, "decode_of_limit": 0.7}  # at least


def prefill_tps(build: Path, one: Model, words: Path) -> float:
    """Tokens a second."""
    asked = [build / "bench" / "sotto_bench_decode", one.path, CORES, PROMPT, 8, 0, words, 3]
    rows = said(asked)["rows"]
    return statistics.median(row["tps"] for row in rows if row["what"] == "read")


def decode_tps(build: Path, one: Model, words: Path) -> float:
    """Tokens a second, of all streams together."""
    asked = given(
        what="batch", model=one.path, words=words, streams=STREAMS, depth=128, tokens=TOKENS, rounds=3
    )
    return float(statistics.median(said([build / "bench" / "sotto_bench_npcs", *asked])["tps"]))


def shares(arguments: argparse.Namespace, one: Model, words: Path) -> dict[str, float]:
    """One turn."""
    probe = said([arguments.build / "bench" / "sotto_bench_limits", *given(threads=CORES, seconds=2)])
    size = weights(one.name)
    per_op, per_byte = 1e-9 / probe["int8_gops"], 1e-9 / probe["read_gbytes"]
    prefill, decode = prefill_tps(arguments.build, one, words), decode_tps(arguments.build, one, words)
    multiply = 2 * (size.layers + size.output) * per_op  # of a token that is answered
    step = max(STREAMS * multiply, size.bytes * per_byte)
    return {
        **probe,
        "prefill_tps": prefill,
        "decode_tps": decode,
        "prefill_of_limit": prefill * 2 * size.layers * per_op,
        "decode_of_limit": decode * step / STREAMS,
    }


def measure(arguments: argparse.Namespace, name: str, folder: Path) -> dict[str, Any]:
    """A model's figures: medians of the turns."""
    one = model(name)
    words = one.write_words(folder)
    turns = []
    for _ in range(arguments.turns):
        wait_for_rest(monotonic() + arguments.patience)
        turns.append(shares(arguments, one, words))
        print(name, {key: round(value, 3) for key, value in turns[-1].items()}, file=sys.stderr, flush=True)
    return {
        "name": name,
        **{key: round(statistics.median(turn[key] for turn in turns), 3) for key in turns[0]},
    }


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--models", default="110m,1b", help="which: 110m, 1b (both)")
    parser.add_argument("--turns", type=int, default=5, help="more of them are more exact (5)")
    parser.add_argument(
        "--patience", type=float, default=15, help="seconds to wait for a machine at rest, per turn (15)"
    )
    arguments = parser.parse_args()
    models = []
    for name in arguments.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            models.append(measure(arguments, name, Path(folder)))
    figures = {name: min(one[name] for one in models) for name in LIMITS}
    broken = [
        f"{name} {figures[name]}, at least {least}" for name, least in LIMITS.items() if figures[name] < least
    ]
    setting = {"prompt": PROMPT, "streams": STREAMS, "cores": CORES, "processor": processor()}
    told = {**figures, "models": models, "setting": setting, "limits": LIMITS, "broken": broken}
    print(json.dumps({**told, "ok": not broken}, indent=None if arguments.json else 2))
    return 0 if not broken else 1


if __name__ == "__main__":
    sys.exit(main())
