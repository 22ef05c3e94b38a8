"""Models of CTranslate2 in the engine, beside the libraries themselves, in the same run and in turn.

Decoder: texts beside those of llama.cpp with the same float32 weights; tokens per second beside the
library's own Generator with one request and with eight; the first token with and without a cached system
message. Whisper: sixty lines beside faster-whisper. Encoder: two hundred sentences beside
sentence-transformers. Translator: two hundred lines beside CTranslate2, and a thousand lines of dialogue.
Account: bytes told over bytes taken, two hundred cancelled requests. Frames: what a game of one thread misses
while its engine transcribes. Prints one JSON object, with `broken`: the limits that are not kept. Needs the
extras [ctranslate2] and [convert] and tests/speech/requirements.txt.

    ctranslate2.py --build build/check/release --json
"""

from __future__ import annotations

import sys

sys.path.append(sys.path.pop(0))  # this file has the name of the package

import argparse
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from machine import Busy, processor
from ours import package
from peers import ROOT

MODULES = {
    "generator": "generate",
    "whisper": "hear",
    "encoder": "embed",
    "translator": "translate",
    "account": "account",
    "frames": "beside",
}
LIMITS: dict[str, dict[str, tuple[str, float]]] = {
    "generator": {
        "equal_to_llama_pct": (">=", 95.0),
        "tokens_ratio_1": (">=", 0.95),
        "tokens_ratio_8": (">=", 0.95),
        "first_token_ratio": ("<=", 0.3),
    },
    "whisper": {"equal_pct": (">=", 95.0), "time_ratio": ("<=", 1.1)},
    "encoder": {"least_cosine": (">=", 0.999)},
    "translator": {"equal_pct": (">=", 100.0), "damaged": ("<=", 0), "listed": ("<=", 50)},
    "account": {
        "decoder_told_ratio": (">=", 0.95),
        "decoder_full_told_ratio": (">=", 0.95),
        "encoder_told_ratio": (">=", 0.95),
        "whisper_told_ratio": (">=", 0.95),
        "grown_mb": ("<=", 32.0),
        "longest_ms": ("<=", 100.0),
        "live_after": ("<=", 0),
        "threads_grown": ("<=", 0),
    },
    "frames": {"points": ("<=", 1.0)},
}


def broken(found: dict[str, dict[str, Any]]) -> list[str]:
    """The limits that are not kept, in words."""
    return [
        f"{part}.{name} is {found[part][name]}, expected {sign} {limit}"
        for part, limits in LIMITS.items()
        if part in found
        for name, (sign, limit) in limits.items()
        if not (found[part][name] >= limit if sign == ">=" else found[part][name] <= limit)
    ]


def measured(parts: list[str], work: Path, turns: int) -> dict[str, dict[str, Any]]:
    """The figures of each part."""
    found = {}
    for part in parts:
        found[part] = import_module(f"ct2.{MODULES[part]}").measure(work, turns)
        print(part, found[part], file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "check" / "release")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "bench" / "ctranslate2")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=LIMITS, default=list(LIMITS))
    parser.add_argument("--json", action="store_true", help="accepted: the output is always JSON")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    package(arguments.build)
    busy = Busy()
    found = measured(arguments.only, arguments.work, arguments.turns)
    report = {
        "processor": processor(),
        "turns": arguments.turns,
        "others_pct": round(busy.others_pct(), 1),
        **found,
        "broken": broken(found),
    }
    print(json.dumps(report, indent=1))
    sys.exit(1 if report["broken"] else 0)


if __name__ == "__main__":
    main()
