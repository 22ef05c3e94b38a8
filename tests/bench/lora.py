"""What two LoRA adapters cost against one: tokens per second of 8 streams, half of them on each adapter.

A model of 110 M random weights, Q4_0, has two adapters of rank 8 on all matrices of its layers. Eight
streams decode as fast as they can: all with one adapter, four with each of two, and all without. Turns are
interleaved in random order; a figure is the median of its turns, a ratio the median of those of each turn.
Prints one JSON object.

    lora.py --build build/check/release
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from machine import Busy, processor
from models import synthetic, synthetic_words
from ours import package
from peers import ROOT

sys.path.insert(0, str(ROOT / "tests" / "data"))
from make_adapter import Base, write_gguf  # needs the path above
from make_synthetic import SHAPES

STREAMS, TOKENS, PROMPT = 8, 96, 24
WANTED = 0.8  # at least, of two over one
WAYS: dict[str, list[list[dict[str, str]]]] = {
    "none": [[]],
    "one": [[{"name": "first"}]],
    "two": [[{"name": "first"}], [{"name": "second"}]],
}


def adapters(folder: Path, which: str, rank: int) -> list[Path]:
    """Writes two seeded adapters of a synthetic model."""
    shape = SHAPES[which]
    base = Base(shape.width, shape.heads, shape.kv_heads, shape.hidden, shape.layers)
    names = (folder / "first.gguf", folder / "second.gguf")
    return [write_gguf(path, at, base=base, rank=rank, spread=0.02) for at, path in enumerate(names)]


def run(engine: Any, way: str, turn: int) -> float:
    """Tokens per second of eight streams together, from the first token of the last one to begin."""
    words = random.Random(turn).sample(synthetic_words(), PROMPT)
    sets = WAYS[way]
    requests = [
        engine.submit(
            "completion",
            {
                "model": "bench",
                "prompt": " ".join(words),
                "max_tokens": TOKENS,
                "ignore_eos": True,
                "temperature": 0,
                "cache_prompt": False,
                "lora": sets[at % len(sets)],
            },
        )
        for at in range(STREAMS)
    ]
    began: dict[int, float] = {}
    tokens, waiting, counted = 0, set(requests), 0.0
    while waiting:
        engine.wait()
        for event in engine.events():
            if event.status < 0:
                raise SystemExit(event.error)
            if event.kind == "text" and event.request not in began:
                began[event.request] = perf_counter()
                counted = perf_counter() if len(began) == STREAMS else 0.0
                tokens = 0
            elif event.kind == "text":
                tokens += 1
            elif event.kind == "request_done":
                waiting.discard(event.request)
    return tokens / (perf_counter() - counted)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "check" / "release")
    parser.add_argument("--model", default="110m", choices=SHAPES)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    sotto = package(arguments.build)
    folder = arguments.build / "lora"
    folder.mkdir(exist_ok=True)
    first, second = adapters(folder, arguments.model, arguments.rank)
    busy = Busy()
    turns: list[dict[str, float]] = []
    with sotto.Engine("cpu", mode="prioritize_compute", threads=arguments.threads) as engine:
        engine.load_model("bench", path=synthetic(arguments.model), options={"parallel": STREAMS})
        engine.lora_load("bench", first, name="first")
        engine.lora_load("bench", second, name="second")
        run(engine, "two", -1)
        for turn in range(arguments.turns):
            ways = random.Random(turn).sample(list(WAYS), len(WAYS))
            turns.append({way: run(engine, way, turn) for way in ways})
    others = busy.others_pct()

    def median(values: Any) -> float:
        return round(statistics.median(values), 3)

    ratio = median(turn["two"] / turn["one"] for turn in turns)
    report = {
        "processor": processor(),
        "model": arguments.model,
        "rank": arguments.rank,
        "streams": STREAMS,
        "turns": arguments.turns,
        **{f"{way}_tps": median(turn[way] for turn in turns) for way in WAYS},
        "aggregate_ratio": ratio,
        "one_over_none": median(turn["one"] / turn["none"] for turn in turns),
        "wanted_ratio": WANTED,
        "others_pct": round(others, 1),
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
