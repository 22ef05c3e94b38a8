"""Many characters on one set of weights, in the mode that gives models the whole machine.

How fast eight streams write together beside llama-batched-bench (the same build, depth and batch, with
flash attention or without, whichever it is faster with); what eight that ask again and again are served
beside a llama-server as its users get it; how soon characters begin whose prompts begin alike; whether 64
streams on 8 slots are served alike, and how long one waits whom the player speaks with; what a turn costs in
a session that has outgrown its context. Ratios are medians over turns, whose runs followed one another. With
--out, what was run stays in that file and is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import peers
from commands import given, printed, said
from llama_server import Talk, asked
from machine import processor, undisturbed
from models import Model, model

STREAMS = 8
CORES = os.cpu_count() or 1
DEPTH, TOKENS = 512, 128  # of streams that write together
TALKS = {"1b": Talk(STREAMS, 256, 128)}  # what is asked of us and of the server
TALK = Talk(STREAMS, 512, 128)
SECONDS = {"1b": 60.0}  # that they are asked for
WARM_UP = 4.0
SHARED, OWN = 400, 40  # tokens of a prompt that all characters have, and of each one's own
CROWD, CROWD_TALK = 64, (32, 16)  # streams on 8 slots; tokens of their prompts and answers
SESSION = {"context": 2048, "sheet": 90, "own": 16, "tokens": 12}  # words of the sheet and of each turn
EARLY = range(25, 50)  # turns of a young session, whose context is not full
CUT = 0.15  # of the context: a turn that works through more of its prompt left out turns before it
LIMITS = {  # at least, or at most
    "aggregate_vs_batched_bench": (">=", 1.0),
    "aggregate_vs_llama_server": (">=", 1.05),
    "shared_prefix_ttft_ratio": ("<=", 0.25),
    "fairness_max_min": ("<=", 1.5),
    "foreground_wait_slices": ("<=", 1.0),
    "long_session_worked": ("<=", 0.05),
    "long_session_cuts": ("<=", 0.05),
    "long_session_ttft_ratio": ("<=", 1.5),
    "long_session_sheet": (">=", 1.0),
}
QUICK_LIMITS = {  # of which a moment says something, on any machine
    "shared_prefix_ttft_ratio": ("<=", 0.5),
    "foreground_wait_slices": ("<=", 3.0),
    "long_session_worked": ("<=", 0.05),
    "long_session_cuts": ("<=", 0.05),
    "long_session_ttft_ratio": ("<=", 4.0),
    "long_session_sheet": (">=", 1.0),
}


class Runs:
    """What is run on a model."""

    def __init__(self, arguments: argparse.Namespace, one: Model, folder: Path, out: Path) -> None:
        self.out = out
        self.build, self.model, self.words = arguments.build, one, one.write_words(folder)
        self.arguments = arguments
        self.talk = TALKS.get(one.name, TALK)
        self.seconds = arguments.seconds or SECONDS.get(one.name, 20.0)
        self.others_pct: list[float] = []

    def ours(self, what: str, **told: Any) -> dict[str, Any]:
        """One run of our own bench."""
        asked_for = given(what=what, model=self.model.path, words=self.words, **told)
        return dict(said([self.build / "bench" / "sotto_bench_npcs", *asked_for]))

    def batch(self) -> float:
        """Tokens a second that we write."""
        told = self.ours("batch", streams=STREAMS, depth=DEPTH, tokens=TOKENS)
        return float(statistics.median(told["tps"]))

    def batched_bench(self, attention: str) -> float:
        """Tokens a second that llama.cpp writes, with flash attention "on" or "off"."""
        sizes = ["-c", STREAMS * (DEPTH + TOKENS), "-npp", DEPTH, "-ntg", TOKENS, "-npl", STREAMS, "-pps"]
        setting = ["-m", self.model.path, "-t", CORES, "--output-format", "jsonl", "-fa", attention]
        lines = printed([peers.same("llama-batched-bench"), *sizes, *setting]).splitlines()
        row = next(line for line in lines if line.startswith("{"))
        return float(json.loads(row)["speed_tg"])

    def closed_loop(self) -> float:
        """Tokens a second that our streams are served."""
        timing = {"seconds": self.seconds, "warmup": WARM_UP}
        return float(self.ours("closed_loop", **vars(self.talk), parallel=STREAMS, **timing)["tps"])

    def llama_server(self) -> float:
        """Tokens a second that clients of a server are served."""
        server, clients = peers.as_users_get_it("llama-server"), self.build / "bench" / "sotto_bench_clients"
        with asked(server, clients, self.model, self.words, self.talk, CORES) as talk:
            time.sleep(WARM_UP)
            began = time.monotonic_ns()
            time.sleep(self.seconds)
            ended = time.monotonic_ns()
        return talk.tokens(began, ended) * 1e9 / (ended - began)

    def once(self, what: str, turn: int, run: Callable[[], Any]) -> Any:
        """A run with the machine to itself, or what it found an earlier time."""
        key = {"model": self.model.name, "what": what, "turn": turn}
        rows = [json.loads(line) for line in self.out.read_text().splitlines()] if self.out.exists() else []
        row = next((row for row in rows if key.items() <= row.items()), None)
        if row is None:
            found, others_pct = undisturbed(lambda _: run(), self.arguments.patience)
            row = {**key, "found": found, "others_pct": others_pct}
            with self.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        self.others_pct.append(row["others_pct"])
        return row["found"]

    def ratio(self, ours: Callable[[], float], theirs: dict[str, Callable[[], float]]) -> dict[str, Any]:
        """Ours to theirs in that of their settings which is the fastest, everyone in turn."""
        runs = {ours.__name__: ours, **theirs}
        turns = []
        for turn in range(self.arguments.turns):
            order = list(runs) if turn % 2 == 0 else list(runs)[::-1]
            found = {name: self.once(name, turn, runs[name]) for name in order}
            turns.append(found)
            shown = ", ".join(f"{name} {found[name]:.1f}" for name in runs)
            print(f"{self.model.name} {shown}", file=sys.stderr, flush=True)
            if not all(found.values()):
                sys.exit("someone said nothing in that time; --seconds gives it more")
        median = statistics.median
        tps = {name: round(median(found[name] for found in turns), 2) for name in runs}
        best = max(theirs, key=lambda name: tps[name])
        return {
            "ours_tps": tps[ours.__name__],
            "peer_tps": tps[best],
            "peer": best,
            "ratio": round(median(found[ours.__name__] / found[best] for found in turns), 3),
        }

    def prefix(self) -> dict[str, Any]:
        """How soon characters begin that share most of a prompt."""
        sizes = {"shared": SHARED, "own": OWN, "rounds": self.arguments.turns}
        rounds = self.once("prefix", 0, lambda: self.ours("prefix", streams=STREAMS, **sizes)["rounds"])
        mean, median = statistics.mean, statistics.median
        return {
            "first_ms": round(median(one["in_turn_ms"][0] for one in rounds), 2),
            "others_ms": round(median(mean(one["in_turn_ms"][1:]) for one in rounds), 2),
            "ratio": round(median(mean(one["in_turn_ms"][1:]) / one["in_turn_ms"][0] for one in rounds), 3),
            "at_once_ms": round(median(mean(one["at_once_ms"]) for one in rounds), 2),
            "apart_ms": round(median(mean(one["apart_ms"]) for one in rounds), 2),
            "at_once_ratio": round(
                median(mean(one["at_once_ms"]) / mean(one["apart_ms"]) for one in rounds), 3
            ),
        }

    def crowd(self) -> dict[str, Any]:
        """What each of many streams is served, and how long a foreground request waits among them."""
        prompt, tokens = CROWD_TALK
        sizes = {"streams": CROWD, "parallel": STREAMS}
        talk = {
            "prompt": prompt,
            "tokens": tokens,
            "seconds": self.arguments.crowd_seconds,
            "warmup": WARM_UP,
        }
        served = self.once("crowd", 0, lambda: self.ours("closed_loop", **sizes, **talk)["tokens_each"])
        times = self.arguments.times
        urgent = self.once("foreground", 0, lambda: self.ours("foreground", **sizes, times=times))
        steps = urgent["steps"]
        return {
            "fairness_max_min": round(max(served) / min(served), 3) if min(served) else None,
            "least_answers": round(min(served) / tokens, 1),
            "foreground_wait_slices": max(steps) if min(steps) >= 0 else None,
            "foreground_first_ms": round(statistics.median(urgent["first_ms"]), 2),
        }

    def long_session(self) -> dict[str, Any]:
        """What turns cost once the context is full: from the first that leaves out others."""
        sizes = {**SESSION, "turns": self.arguments.session_turns, "young": EARLY.stop}
        told = self.once("long_session", 0, lambda: self.ours("long_session", **sizes))
        worked, first = told["worked"], told["first_ms"]
        cuts = [turn for turn in range(1, len(worked)) if worked[turn] > CUT * SESSION["context"]]
        if not cuts:
            sys.exit("the session never outgrew its context; --session-turns gives it more")
        full = range(cuts[0], len(worked))
        others = [first[turn] for turn in full if turn not in cuts]
        early = [ms for turn, ms in enumerate(told["young_first_ms"]) if turn % EARLY.stop >= EARLY.start]
        return {
            "turns": len(worked),
            "full_after": cuts[0],
            "worked": round(statistics.mean(worked[turn] for turn in full) / SESSION["context"], 4),
            "cuts": round(len(cuts) / len(full), 4),
            "early_ms": round(p95(early), 2),
            "late_ms": round(p95(others), 2),
            "cut_ms": round(statistics.median(first[turn] for turn in cuts), 2),
            "ttft_ratio": round(p95(others) / p95(early), 3),
            "sheet": round(min(told["cached"][1:]) / SESSION["sheet"], 3),
        }


def p95(values: list[float]) -> float:
    """The value that 95 of 100 are at or below."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


def measure(runs: Runs, *, crowd: bool, beside_peers: bool) -> dict[str, Any]:
    """All figures of a model."""
    told: dict[str, Any] = {"name": runs.model.name}
    if beside_peers:
        attention = {
            f"batched_bench, attention {how}": partial(runs.batched_bench, how) for how in ("on", "off")
        }
        told["batched_bench"] = runs.ratio(runs.batch, attention)
        told["llama_server"] = runs.ratio(runs.closed_loop, {"llama_server": runs.llama_server})
    told["shared_prefix"] = runs.prefix()
    if crowd:
        told["crowd"] = runs.crowd()
    if runs.model.name in ("house", "110m"):
        told["long_session"] = runs.long_session()
    return {**told, "others_pct": max(runs.others_pct)}


def report(models: list[dict[str, Any]], quick: bool) -> dict[str, Any]:
    """The worst of each figure, and whether it is within its limit."""

    def worst(part: str, name: str, of: Callable[..., Any]) -> Any:
        found = [one[part][name] for one in models if part in one]
        return None if not found or None in found else of(found)

    figures = {
        "aggregate_vs_batched_bench": worst("batched_bench", "ratio", min),
        "aggregate_vs_llama_server": worst("llama_server", "ratio", min),
        "shared_prefix_ttft_ratio": worst("shared_prefix", "ratio", max),
        "shared_prefix_all_at_once_ratio": worst("shared_prefix", "at_once_ratio", max),
        "fairness_max_min": worst("crowd", "fairness_max_min", max),
        "foreground_wait_slices": worst("crowd", "foreground_wait_slices", max),
        "long_session_worked": worst("long_session", "worked", max),
        "long_session_cuts": worst("long_session", "cuts", max),
        "long_session_ttft_ratio": worst("long_session", "ttft_ratio", max),
        "long_session_sheet": worst("long_session", "sheet", min),
    }
    limits = QUICK_LIMITS if quick else LIMITS
    broken = [
        f"{name} {figures[name]}, limit {side} {limit}"
        for name, (side, limit) in limits.items()
        if figures[name] is None or (figures[name] < limit if side == ">=" else figures[name] > limit)
    ]
    setting = {"streams": STREAMS, "cores": CORES, "processor": processor(), "mode": "prioritize_compute"}
    told = {name: f"{side} {limit}" for name, (side, limit) in limits.items()}
    return {
        **figures,
        "models": models,
        "setting": setting,
        "limits": told,
        "broken": broken,
        "ok": not broken,
    }


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--models", default="110m,1b", help="which; the crowd is of the first (110m,1b)")
    parser.add_argument("--turns", type=int, default=5, help="more of them are more exact (5)")
    parser.add_argument("--seconds", type=float, help="of each closed loop (20; 60 for 1b)")
    parser.add_argument("--crowd-seconds", type=float, default=40, help="that 64 streams ask (40)")
    parser.add_argument("--times", type=int, default=20, help="that one comes to the fore (20)")
    parser.add_argument("--session-turns", type=int, default=1000, help="of the long session (1000)")
    parser.add_argument(
        "--patience", type=float, default=120, help="seconds to wait for a machine at rest, per run (120)"
    )
    parser.add_argument("--out", type=Path, help="the file that holds what was run, a line each")
    parser.add_argument("--quick", action="store_true", help="the house model for moments, no peers")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.models, arguments.turns, arguments.patience = "house", 3, 0
        arguments.crowd_seconds, arguments.times, arguments.session_turns = 5, 3, 200
    told = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(arguments.models.split(",")):
            out = arguments.out or Path(folder) / "many_npcs.jsonl"
            runs = Runs(arguments, model(name), Path(folder), out)
            told.append(measure(runs, crowd=number == 0, beside_peers=not arguments.quick))
    figures = report(told, arguments.quick)
    print(json.dumps(figures, indent=None if arguments.json else 2))
    return 0 if figures["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
