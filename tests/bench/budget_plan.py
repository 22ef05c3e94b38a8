"""What a plan says that a model takes, beside what the process has once it is loaded and has spoken.

Each case in a process of its own: what one has given back may serve the next.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from budget_account import AMPLE_MB, MB
from commands import said
from models import Model, model
from ours import package

STREAMS = 2
CONTEXTS = {"house": (512, 1024, 2048), "110m": (512, 2048, 4096), "1b": (512, 1024, 2048)}
# Tokens of a step: larger ones take longer than the scheduler lets them, and leave memory untouched.
BATCHES = {"110m": 64, "1b": 64}
KV = ("f16", "q8_0", "open")  # "open": neither named nor affordable at full size
SPARE = 96  # tokens of the context that the warm-up leaves
PCT, LEAST_MB = 3.0, 8.0  # a plan is within the larger of the two
LEDGER_MB = 16.0  # that the ledger may be away from the platform, beside a part of it
LOOKS_S = 0.005


def rss() -> int:
    """Bytes of memory that are this process' own, in no file."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024


class Peak:
    """The most that this process has meanwhile."""

    def __init__(self) -> None:
        self.bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(LOOKS_S):
            self.bytes = max(self.bytes, rss())


def plan_for(sotto: ModuleType, one: Model, options: dict[str, Any], budget_mb: int) -> dict[str, Any]:
    """Of an engine that has nothing else."""
    with sotto.Engine(vram_budget_mb=budget_mb) as engine:
        told: dict[str, Any] = engine.plan_model(one.name, path=one.path, options=options)
    return told


def bytes_of(plan: dict[str, Any]) -> int:
    """What it would take, in the end."""
    return int(plan["rungs"][-1]["bytes"])


def asked_for(sotto: ModuleType, one: Model, context: int, kv: str) -> tuple[dict[str, Any], int]:
    """Options, and a budget in MB."""
    options: dict[str, Any] = {"context": context, "parallel": STREAMS, "batch": BATCHES.get(one.name, 512)}
    if kv != "open":
        return {**options, "kv_type": kv}, AMPLE_MB
    large, small = (
        bytes_of(plan_for(sotto, one, {**options, "kv_type": kind}, AMPLE_MB)) for kind in ("f16", "q8_0")
    )
    return options, (large + small) // 2 // MB


def warm_up(engine: Any, one: Model, context: int) -> None:
    """Has it fill a context, and say something: what steps compute in is only touched then."""
    words = random.Random(1).choices(one.words, k=context - SPARE)
    body = {"model": one.name, "prompt": " ".join(words), "max_tokens": 16, "ignore_eos": True}
    engine.llm_text_completion(body)


def case(build: Path, name: str, context: int, kv: str) -> dict[str, Any]:
    """One, in this process."""
    sotto, one = package(build), model(name)
    options, budget_mb = asked_for(sotto, one, context, kv)
    plan = plan_for(sotto, one, options, budget_mb)
    with sotto.Engine(vram_budget_mb=budget_mb, mode="prioritize_compute") as engine:
        engine.describe()  # opens the modules
        before = rss()
        with Peak() as peak:
            engine.load_model(one.name, path=one.path, options=options)
            warm_up(engine, one, context)
        time.sleep(0.05)
        measured, ledger = rss() - before, int(engine.memory()["used"])
    return {
        "model": name,
        "context": context,
        "kv": kv,
        "rung": plan["rung"],
        "plan": bytes_of(plan),
        "measured": measured,
        "peak": peak.bytes - before,
        "ledger": ledger,
    }


def judged(told: dict[str, Any]) -> dict[str, Any]:
    """How far the plan is from what was measured, and the ledger."""
    away = abs(told["plan"] - told["measured"])
    return {
        **told,
        "mb": round(away / MB, 2),
        "pct": round(100 * away / told["measured"], 2),
        "within": away <= max(PCT / 100 * told["measured"], LEAST_MB * MB),
        "ledger_mb": round(abs(told["ledger"] - told["measured"]) / MB, 2),
    }


def ledger_pct(one: dict[str, Any]) -> float:
    """How far the ledger is from the platform's figure, beyond what is allowed anyway."""
    return max(0.0, one["ledger_mb"] - LEDGER_MB) * MB / one["measured"] * 100


def plans(build: Path, names: list[str], contexts: int) -> dict[str, Any]:
    """All cases of these models, with the first so many contexts."""
    cases = []
    for name in names:
        for context in CONTEXTS[name][:contexts]:
            for kv in KV:
                words = [sys.executable, __file__, "--build", build, "--case", name, context, kv]
                cases.append(judged(said(words)))
                print(f"plan {name} {context} {kv}: {cases[-1]['mb']} MB away", file=sys.stderr, flush=True)
    return {
        "plan": {
            "worst_pct": max(one["pct"] for one in cases),
            "worst_mb": max(one["mb"] for one in cases),
            "outside": sum(not one["within"] for one in cases),
            "cases": cases,
        },
        "ledger_vs_platform_pct": round(max(map(ledger_pct, cases)), 2),
        "ledger_vs_platform_mb": max(one["ledger_mb"] for one in cases),
    }


def main() -> int:
    """Prints one case as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build")
    parser.add_argument("--case", nargs=3, required=True, metavar=("MODEL", "CONTEXT", "KV"))
    arguments = parser.parse_args()
    name, context, kv = arguments.case
    print(json.dumps(case(arguments.build, name, int(context), kv)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
