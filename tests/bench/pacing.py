"""Whether words come when they are due, and whether anything else makes them late.

On the house model: targets, a change of target, a host that stops for a moment. On the 110 M model: a prompt
of 4,000 tokens that arrives, and a model that is loaded, while four streams speak; how soon what is
cancelled ends; an engine that is closed under load; what an engine takes that has nothing to do.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from commands import given, said
from machine import processor, undisturbed
from models import Model, model
from pacing_report import (
    Told,
    deviations_ms,
    longest_step,
    most_gap,
    most_rate,
    over_limits,
    p99,
    rate_error_pct,
    tokens_until_new_pace,
)

TARGETS = (5.0, 12.5, 30.0, 60.0)  # tokens a second
STREAMS = 4
SPEECH = 12.5  # while something else happens
RETARGET = (12.5, 30.0)
HITCH_MS, HITCH_TARGETS = 300, (12.5, 30.0)
CONTEXTS = {"house": 2048, "110m": 4096}  # all that they hold
PROMPTS = {"house": 1960, "110m": 4000}  # tokens of what arrives
SCRIPT = {"tokens": [" and", " so", " on"], "loop": True, "streams": STREAMS + 1, "step_tokens": 512}
LIMITS = {
    "mean_error_pct": 1.0,
    "scripted_p99_deviation_ms": 2.0,
    "p99_deviation_slices": 1.0,
    "retarget_tokens": 1,
    "hitch_max_rate_over_target": 2.0,
    "prompt_max_gap_intervals": 3.0,
    "load_max_gap_intervals": 3.0,
    "slice_p99_over_limit": 1.5,
    "cancel_p99_over_slice_ms": 1.0,
    "close_ms": 250.0,
    "idle_core_pct": 0.5,
}
QUICK_LOOSER = 3.0  # of moments on any machine, no more is asked than so many times the limit


class Runs:
    """The runs, each with the machine to itself."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments, self.bench = arguments, arguments.build / "bench" / "sotto_bench_pacing"
        self.house, self.small = model("house"), model("house" if arguments.quick else "110m")
        self.large = model("110m" if arguments.quick else "1b")
        self.words = {one.name: one.write_words(folder) for one in (self.house, self.small)}
        self.others_pct: list[float] = []

    def run(self, what: str, one: Model, **told: Any) -> Any:
        """What the program tells."""
        known = given(what=what, model=one.path, words=self.words[one.name], context=CONTEXTS[one.name])
        command = [self.bench, *known, *given(**told)]
        result, others_pct = undisturbed(lambda _: said(command), self.arguments.patience)
        self.others_pct.append(others_pct)
        shown = " ".join(f"{name}={value}" for name, value in told.items() if name != "options")
        print(f"{one.name} {what} {shown}: others {others_pct} %", file=sys.stderr, flush=True)
        return result

    def speak(self, one: Model, target: float, seconds: float, **told: Any) -> Told:
        """Streams that speak, and what happens to them."""
        return Told(self.run("speak", one, streams=STREAMS, target=target, seconds=seconds, **told))

    def scripted(self, target: float) -> Told:
        """Speech of the backend that answers from a script, and takes no time for it."""
        backends = self.arguments.build / "out" / "scripted"
        return self.speak(
            self.house, target, self.arguments.seconds, backends=backends, options=json.dumps(SCRIPT)
        )


def paces(runs: Runs) -> dict[str, Any]:
    """Every target, on the script and on the house model."""
    rows: list[dict[str, Any]] = []
    for target in TARGETS:
        for backend in ("scripted", "house"):
            if backend == "house":
                told = runs.speak(runs.house, target, runs.arguments.seconds)
            else:
                told = runs.scripted(target)
            rows.append(
                {
                    "backend": backend,
                    "target": target,
                    "mean_error_pct": round(rate_error_pct(told, target), 3),
                    "p99_deviation_ms": round(p99(deviations_ms(told, target)), 3),
                    "longest_step_ms": round(longest_step(told), 3),
                }
            )
    house = [row for row in rows if row["backend"] == "house"]
    scripted = [row for row in rows if row["backend"] == "scripted"]
    slices = [row["p99_deviation_ms"] / (row["longest_step_ms"] + 1) for row in house]  # polled every ms
    return {
        "mean_error_pct": max(row["mean_error_pct"] for row in rows),
        "scripted_p99_deviation_ms": max(row["p99_deviation_ms"] for row in scripted),
        "p99_deviation_ms": max(row["p99_deviation_ms"] for row in house),
        "p99_deviation_slices": round(max(slices), 3),
        "rows": rows,
    }


def changes(runs: Runs) -> dict[str, Any]:
    """Another target, and a host that does not listen for a moment."""
    before, after = RETARGET
    retarget = runs.speak(runs.house, before, 2, at=2, event="retarget", to=after)
    hitches = {}
    for target in HITCH_TARGETS:
        hitch = runs.speak(runs.house, target, 2, at=2, event="hitch", ms=HITCH_MS)
        hitches[target] = round(most_rate(hitch, hitch.over_ns, seconds=1) / target, 3)
    return {
        "retarget_tokens": tokens_until_new_pace(retarget, after),
        "hitch_max_rate_over_target": max(hitches.values()),
    }


def crowded(runs: Runs) -> dict[str, Any]:
    """Something that arrives while others speak."""
    prompt = runs.speak(runs.small, SPEECH, 1, at=2, event="prompt", prompt=PROMPTS[runs.small.name])
    load = runs.speak(runs.small, SPEECH, 1, at=2, event="load", load=runs.large.path)
    over = over_limits(prompt)
    return {
        "prompt_max_gap_intervals": round(most_gap(prompt, prompt.began_ns) * SPEECH, 3),
        "prompt_s": round((prompt.over_ns - prompt.began_ns) / 1e9, 2),
        "load_max_gap_intervals": round(most_gap(load, load.began_ns) * SPEECH, 3),
        "load_s": round((load.over_ns - load.began_ns) / 1e9, 2),
        "slice_p99_over_limit": round(p99(over), 3) if over else None,
    }


def ends(runs: Runs) -> dict[str, Any]:
    """What is cancelled, and what is closed."""
    load = {"load": runs.large.path}
    cancels = {
        phase: runs.run("cancel", runs.small, phase=phase, times=runs.arguments.times, **load)
        for phase in ("decode", "prefill", "load")
    }
    rows = {
        phase: {
            "cancelled": len(one["ms"]),
            "p99_ms": round(p99(one["ms"]), 3) if one["ms"] else None,
            "longest_slice_ms": one["longest_slice_ms"],
        }
        for phase, one in cancels.items()
    }
    over = [row["p99_ms"] - row["longest_slice_ms"] for row in rows.values() if row["cancelled"]]
    closed = runs.run("close", runs.small, times=3 if runs.arguments.quick else 10, **load)
    return {"cancel": rows, "cancel_p99_over_slice_ms": round(max(over), 3), "close_ms": max(closed["ms"])}


def idle(runs: Runs) -> dict[str, Any]:
    """An engine whose models have nothing to do."""
    seconds = 2 if runs.arguments.quick else 5
    told = runs.run("idle", runs.small, load=runs.large.path, seconds=seconds)
    return {"idle_core_pct": told["core_pct"]}


def broken(figures: dict[str, Any], looser: float) -> list[str]:
    """What is not within its limit."""
    return [
        f"{name} {figures[name]}, at most {limit * looser}"
        for name, limit in LIMITS.items()
        if figures[name] is None or figures[name] > limit * looser
    ]


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--seconds", type=float, default=10, help="of each target (10)")
    parser.add_argument("--times", type=int, default=100, help="that is cancelled in each phase (100)")
    parser.add_argument(
        "--patience", type=float, default=120, help="seconds to wait for a machine at rest, per run (120)"
    )
    parser.add_argument("--quick", action="store_true", help="the house model alone, for moments")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seconds, arguments.times, arguments.patience = 1.5, 8, 0
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(arguments, Path(folder))
        figures: dict[str, Any] = {}
        for measure in (paces, changes, crowded, ends, idle):
            figures |= measure(runs)
    wrong = broken(figures, QUICK_LOOSER if arguments.quick else 1.0)
    setting = {"streams": STREAMS, "processor": processor(), "others_pct": max(runs.others_pct)}
    told = {**figures, "setting": setting, "limits": LIMITS, "broken": wrong, "ok": not wrong}
    print(json.dumps(told, indent=None if arguments.json else 2))
    return 0 if told["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
