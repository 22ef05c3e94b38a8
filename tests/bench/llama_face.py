"""`sotto.llama` beside llama-cpp-python, the same scripts in a process of each, in turn.

Of each model: speed of a completion and of its prefill, time to the first token of a chat and of its second
turn, four chats at the same time, and the memory that these take. Ratios are ours to theirs, medians over
runs that followed each other. Prints one JSON object, with `broken`: the limits that are not kept.

    llama_face.py --build build/check/release --json
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from machine import Busy, processor
from models import Model, model
from peers import ROOT
from sides import Ask, side, words

sys.path.append(str(ROOT / "tests" / "faces"))

import llama_cpp_python  # needs the path above

SIDE = Path(__file__).with_name("llama_face_side.py")
ANSWER, PROMPT, SYSTEM, LINE = 128, 400, 200, 20  # tokens of an answer, words of the rest
TRIES = 50
LIMITS = {
    "generate_ratio": (">=", 1.0),
    "prefill_ratio": (">=", 1.0),
    "chat_ttft_ratio": ("<=", 1.0),
    "second_turn_ratio": ("<=", 1.05),
    "aggregate_ratio": (">=", 1.5),
    "memory_ratio": ("<=", 0.7),
}
IMPORT_MS = 40.0


def start(python: str, module: str, path: Path, threads: int) -> AbstractContextManager[Ask]:
    """Starts a side."""
    return side([python, str(SIDE), module, str(path), str(threads)], module)


def lasting(sides: dict[str, Ask], one: Model, chance: random.Random) -> dict[str, Any]:
    """Returns a completion that does not end by itself. Both sides have then prefilled its prompt."""
    for _ in range(TRIES):
        a, b, c = chance.choices(one.words, k=3)
        asked = {"prompt": f"A long story: {a}, {b}, {c}, {a}, {b}, {c}, {a}, {b},", "max_tokens": ANSWER}
        if all(ask("completed", **asked)["tokens"] == ANSWER for ask in sides.values()):
            return {"do": "completed", **asked}
    sys.exit(f"{one.name} ends each of {TRIES} answers before {ANSWER} tokens")


def questions(
    sides: dict[str, Ask], one: Model, chance: random.Random
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields what each side is asked for in a run: the name, and the arguments."""
    yield "generate", lasting(sides, one, chance)
    yield "prefill", {"do": "completed", "prompt": words(one, chance, PROMPT), "max_tokens": 1}
    lines = [words(one, chance, LINE) for _ in range(2)]
    yield "chat", {"do": "chat", "system": words(one, chance, SYSTEM), "lines": lines}
    lines = [words(one, chance, LINE) for _ in range(4)]
    yield "together", {"do": "together", "system": words(one, chance, SYSTEM), "lines": lines}


def compared(one: Model, theirs: str, threads: int, runs: int) -> dict[str, float]:
    """Returns the figures of a model."""
    seen: dict[str, list[dict[str, dict[str, Any]]]] = {}
    with ExitStack() as stack:
        sides = {
            "ours": stack.enter_context(start(sys.executable, "sotto.llama", one.path, threads)),
            "theirs": stack.enter_context(start(theirs, "llama_cpp", one.path, threads)),
        }
        for run in range(-1, runs):  # the first one warms up
            for name, asked in questions(sides, one, random.Random(run)):
                order = random.Random(f"{run} {name}").sample(list(sides), 2)
                found = {who: sides[who](**asked) for who in order}
                if run >= 0:
                    seen.setdefault(name, []).append(found)
    memory = {who: four(python, module, one, threads) for who, python, module in both(theirs)}
    return {
        "generate_ratio": ratio(seen["generate"], lambda told: told["tokens"] / told["seconds"]),
        "prefill_ratio": ratio(seen["prefill"], lambda told: told["prompt"] / told["seconds"]),
        "chat_ttft_ratio": ratio(seen["chat"], lambda told: told["first"][0]),
        "second_turn_ratio": ratio(seen["chat"], lambda told: told["first"][1]),
        "aggregate_ratio": ratio(seen["together"], lambda told: told["tokens"] / told["seconds"]),
        "memory_ratio": round(memory["ours"] / memory["theirs"], 3),
        **absolute(seen, memory),
    }


def both(theirs: str) -> list[tuple[str, str, str]]:
    """Returns the sides: who, Python and module."""
    return [("ours", sys.executable, "sotto.llama"), ("theirs", theirs, "llama_cpp")]


def four(python: str, module: str, one: Model, threads: int) -> float:
    """Returns the MB of a fresh process after four conversations."""
    with start(python, module, one.path, threads) as ask:
        chance = random.Random(0)
        lines = [words(one, chance, LINE) for _ in range(4)]
        ask("together", system=words(one, chance, SYSTEM), lines=lines)
        return float(ask("memory")["mb"])


def ratio(seen: list[dict[str, dict[str, Any]]], figure: Callable[[dict[str, Any]], float]) -> float:
    """Returns the median of the ratios, ours to theirs."""
    return round(statistics.median(figure(run["ours"]) / figure(run["theirs"]) for run in seen), 3)


def absolute(seen: dict[str, list[dict[str, dict[str, Any]]]], memory: dict[str, float]) -> dict[str, float]:
    """Returns the figures of both sides: medians."""
    figures: dict[str, tuple[str, Callable[[dict[str, Any]], float]]] = {
        "generate_tps": ("generate", lambda told: told["tokens"] / told["seconds"]),
        "prefill_tps": ("prefill", lambda told: told["prompt"] / told["seconds"]),
        "chat_ttft_ms": ("chat", lambda told: 1000 * told["first"][0]),
        "second_turn_ms": ("chat", lambda told: 1000 * told["first"][1]),
        "aggregate_tps": ("together", lambda told: told["tokens"] / told["seconds"]),
    }
    told = {
        f"{name}_{who}": round(statistics.median(figure(run[who]) for run in seen[what]), 1)
        for name, (what, figure) in figures.items()
        for who in ("ours", "theirs")
    }
    return told | {f"memory_mb_{who}": round(mb, 1) for who, mb in memory.items()}


def import_ms(theirs: str, runs: int) -> dict[str, float]:
    """Returns what the imports add to bare Python, in turn."""
    took: dict[tuple[str, str], list[float]] = {}
    for run in range(-1, runs):  # the first one writes byte code
        for who, python, module in both(theirs):
            for code in ("pass", f"from {module} import Llama"):
                began = time.perf_counter()
                subprocess.run([python, "-c", code], check=True)
                if run >= 0:
                    took.setdefault((who, code), []).append(time.perf_counter() - began)
    medians = {key: statistics.median(times) for key, times in took.items()}
    added = {
        who: 1000 * (medians[who, f"from {module} import Llama"] - medians[who, "pass"])
        for who, _, module in both(theirs)
    }
    return {"import_ms": round(added["ours"], 1), "import_ms_theirs": round(added["theirs"], 1)}


def broken(report: dict[str, Any]) -> list[str]:
    """Returns the limits that are not kept, in words."""
    found = [
        f"{name}: {figure} is {figures[figure]}, expected {sign} {limit}"
        for name, figures in report["models"].items()
        for figure, (sign, limit) in LIMITS.items()
        if not (figures[figure] >= limit if sign == ">=" else figures[figure] <= limit)
    ]
    if report["import_ms"] > IMPORT_MS:
        found.append(f"import_ms is {report['import_ms']}, expected <= {IMPORT_MS}")
    return found


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "check" / "release")
    parser.add_argument("--models", default="house,110m")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", action="store_true", help="on one line")
    given = parser.parse_args()
    os.environ["SOTTO_LIBRARY"] = str((given.build / "out" / "libsotto.so").resolve())
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an import reads byte code
    theirs, busy = str(llama_cpp_python.python()), Busy()
    names = given.models.split(",")
    report: dict[str, Any] = {
        "processor": processor(),
        "threads": given.threads,
        "runs": given.runs,
        **import_ms(theirs, 3 * given.runs),
        "models": {name: compared(model(name), theirs, given.threads, given.runs) for name in names},
    }
    report |= {"others_pct": round(busy.others_pct(), 1), "broken": broken(report)}
    print(json.dumps(report, indent=None if given.json else 2))
    return 1 if report["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
