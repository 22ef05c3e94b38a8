"""How soon a character begins to answer beside a busy game, against every fixed number of threads.

The two games of frames.py. A character is asked one question at a time: 128 tokens that nobody knows yet, and
a pause. Either the engine chooses the number of threads (mode `balance`), or it is fixed at 1, 2, ... by
SOTTO_ENGINE_DETERMINISTIC, which also prefills in pieces of a fixed size. Turns of all settings follow each
other in random order; the questions of a setting are pooled.

    first_answer.py --build build/check/release
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from commands import given, said
from frames import CORES, GAMES
from frames_report import missed_pct, percentile
from machine import processor, undisturbed
from models import model

CHOSEN = "balance"
FIXED = {f"threads_{count}": count for count in range(1, CORES + 1)}
TALK = {"prompt": 128, "pause_ms": 300}  # tokens; until the next question
LIMITS = {"p95_over_best_fixed": 1.1}
QUICK_LIMITS = {"p95_over_best_fixed": 2.0}  # of a few questions on any machine


def turn(arguments: argparse.Namespace, game: str, setting: str, iterations: int, beside: list[str]) -> Any:
    """One run of the game, and how long each question waited."""
    bench = arguments.build / "bench" / "sotto_bench_first_answer"
    frames = given(threads=GAMES[game][0], iterations=iterations, seconds=arguments.seconds)
    result, others_pct = undisturbed(
        lambda _: said([bench, *frames, *beside, *given(compute_threads=FIXED.get(setting, 0))]),
        arguments.patience,
    )
    result["others_pct"] = others_pct
    return result


def row_of(game: str, setting: str, turns: list[Any]) -> dict[str, Any]:
    """What the turns of a setting come to."""
    waits = [ms for one in turns for ms in one["first_token_ms"]]
    us = [round(1000 * ms) for ms in waits]
    return {
        "game": game,
        "setting": setting,
        "questions": len(waits),
        "p50_ms": percentile(us, 0.5),
        "p95_ms": percentile(us, 0.95),
        "missed_pct": round(missed_pct(turns), 3),
        "others_pct": max(one["others_pct"] for one in turns),
    }


def measure(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """All rows."""
    one = model(arguments.model)
    beside = given(model=one.path, words=one.write_words(folder), **TALK)
    bench = arguments.build / "bench" / "sotto_bench_frames"
    chance = random.Random(1)
    rows = []
    for game, (threads, work_ms) in GAMES.items():
        iterations = int(said([bench, *given(calibrate=work_ms, threads=threads)])["iterations"])
        turns: dict[str, list[Any]] = {setting: [] for setting in (CHOSEN, *FIXED)}
        for _ in range(arguments.turns):
            for setting in chance.sample(list(turns), len(turns)):
                turns[setting].append(turn(arguments, game, setting, iterations, beside))
        rows += [row_of(game, setting, made) for setting, made in turns.items()]
        for row in rows[-len(turns) :]:
            print(json.dumps(row), file=sys.stderr, flush=True)
    return rows


def report(rows: list[dict[str, Any]], limits: dict[str, float]) -> dict[str, Any]:
    """The worst ratio of the games, and whether it is within its limit."""
    ratios = {}
    for game in GAMES:
        p95 = {row["setting"]: row["p95_ms"] for row in rows if row["game"] == game}
        ratios[game] = round(p95[CHOSEN] / min(p95[setting] for setting in FIXED), 3)
    figures = {"p95_over_best_fixed": max(ratios.values())}
    broken = [
        f"{name} {figures[name]}, at most {most}" for name, most in limits.items() if figures[name] > most
    ]
    setting = {"talk": TALK, "cores": CORES, "processor": processor()}
    told = {"by_game": ratios, "rows": rows, "setting": setting, "limits": limits}
    return {**figures, **told, "broken": broken, "ok": not broken}


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--model", default="110m", help="which (110m)")
    parser.add_argument("--turns", type=int, default=3, help="of each setting (3)")
    parser.add_argument("--seconds", type=float, default=30, help="of each turn (30)")
    parser.add_argument(
        "--patience", type=float, default=120, help="seconds to wait for a machine at rest, per turn (120)"
    )
    parser.add_argument("--quick", action="store_true", help="the house model for moments, no patience")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.model, arguments.turns, arguments.seconds, arguments.patience = "house", 2, 2.0, 0
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(arguments, Path(folder))
    figures = report(rows, QUICK_LIMITS if arguments.quick else LIMITS)
    print(json.dumps(figures, indent=None if arguments.json else 2))
    return 0 if figures["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
