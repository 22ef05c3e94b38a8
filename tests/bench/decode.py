"""How fast models read and write through the C ABI, beside llama-bench on the same llama.cpp.

There are two peers: llama.cpp built as we build it, and as its users get it (OpenMP). All use as many
threads, the same batch and flash attention, the same depths. Runs are interleaved; a run during which
others used the processors is made again. Speeds are medians. A ratio is the median of those of each turn,
whose runs followed one another: processors that others share drift by a tenth within minutes. The ratios
told first are to the peer that is built the same.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machine import MOST_OTHERS_TO_GO_ON_PCT, Busy, Disturbed, processor, seconds_of, undisturbed
from models import Model, model
from peers import peers

PROMPT, DEPTHS = 512, (0, 512)
LIMITS = {
    "decode_ratio": 0.97,
    "prefill_ratio": 0.97,
    "house_decode_ratio": 0.85,
    "house_prefill_ratio": 0.85,
}
TIMES = {"110m": 1, "1b": 1, "house": 5}  # that each figure is taken in one run: what is short is noisy
TURNS = {"110m": 4, "1b": 1, "house": 2}  # for each round, so that all models take about as long

Row = tuple[str, int]  # "read" or "write", depth
Speeds = dict[Row, list[float]]  # tokens a second


@dataclass
class Measured(Model):
    """A model, and what was measured on it."""

    times: int = 1  # that each figure is taken in one run
    prompts: dict[int, int] = field(default_factory=dict)  # depth -> tokens that ours read there
    speeds: dict[str, list[Speeds]] = field(default_factory=dict)  # who -> runs
    others_pct: list[float] = field(default_factory=list)


def said(command: list[Any], patient: bool) -> Any:
    """The JSON that a command prints. It is ended where others disturb it, if there is time for another."""
    busy = Busy()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        while True:
            try:
                printed, _ = process.communicate(timeout=1)
                break
            except subprocess.TimeoutExpired:
                own = seconds_of(process.pid)
                if patient and busy.others_pct(own) > MOST_OTHERS_TO_GO_ON_PCT:
                    process.kill()
                    raise Disturbed from None
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"{errors.read().decode()}\n{command[0]} failed with {process.returncode}")
    return json.loads(printed)


def run_ours(
    bench: Path, model: Measured, threads: int, tokens: int, words: Path, patient: bool, device: str = ""
) -> Speeds:
    """One run of our own bench."""
    depths = ",".join(map(str, DEPTHS))
    speeds: Speeds = {}
    asked = [bench, model.path, threads, PROMPT, tokens, depths, words, model.times]
    asked += ["ignore_eos"] if model.ends else []
    asked += [f"device={device}"] if device else []
    for row in said(asked, patient)["rows"]:
        if row["what"] == "read":
            model.prompts[row["depth"]] = row["tokens"]
        speeds.setdefault((row["what"], row["depth"]), []).append(row["tps"])
    return speeds


def run_peer(bench: Path, model: Measured, threads: int, tokens: int, patient: bool) -> Speeds:
    """One run of a peer's, on as many tokens."""
    speeds: Speeds = {}
    for depth in DEPTHS:
        sizes = ["-p", model.prompts[depth], "-n", tokens, "-d", depth, "-b", PROMPT, "-ub", PROMPT]
        setting = ["-m", model.path, "-t", threads, "-fa", 1, "-r", model.times, "-o", "json"]
        for row in said([bench, *sizes, *setting], patient):
            speeds["read" if row["n_prompt"] else "write", depth] = row["samples_ts"]
    return speeds


def measure(model: Measured, arguments: argparse.Namespace, benches: dict[str, Path]) -> None:
    """All runs on one model, everyone in turn."""
    ours = arguments.build / "bench" / "sotto_bench_decode"
    threads, tokens = arguments.threads, arguments.tokens
    with tempfile.TemporaryDirectory() as folder:
        words = model.write_words(Path(folder))
        runs: dict[str, Callable[[bool], Speeds]] = {
            "ours": lambda patient: run_ours(ours, model, threads, tokens, words, patient, arguments.device),
            **{
                who: lambda patient, bench=bench: run_peer(bench, model, threads, tokens, patient)
                for who, bench in benches.items()
            },
        }
        runs["ours"](False)  # the file is in memory from here on
        for turn in range(arguments.rounds * TURNS[model.name]):
            order = list(runs) if turn % 2 == 0 else list(reversed(runs))
            for who in order:
                speeds, others_pct = undisturbed(runs[who], arguments.patience)
                model.others_pct.append(others_pct)
                model.speeds.setdefault(who, []).append(speeds)
                print(f"{model.name} {who} {shown(speeds)}", file=sys.stderr, flush=True)


def shown(speeds: Speeds) -> str:
    """For who looks on."""
    return ", ".join(
        f"{what}@{depth} {statistics.median(all_):.1f}" for (what, depth), all_ in speeds.items()
    )


def rows(model: Measured) -> list[dict[str, Any]]:
    """What was measured on a model: medians, in tokens a second."""
    made = []
    for row in model.speeds["ours"][0]:
        medians = {
            who: statistics.median(tps for run in runs for tps in run[row])
            for who, runs in model.speeds.items()
        }
        ratios = {
            f"ratio_to_{who}": round(ratio(model.speeds["ours"], runs, row), 3)
            for who, runs in model.speeds.items()
            if who != "ours"
        }
        tps = {f"{who}_tps": round(median, 2) for who, median in medians.items()}
        tokens = model.prompts[row[1]] if row[0] == "read" else None
        made.append(
            {"what": row[0], "depth": row[1], **({"tokens": tokens} if tokens else {}), **tps, **ratios}
        )
    return made


def ratio(ours: list[Speeds], theirs: list[Speeds], row: Row) -> float:
    """Of our speed to theirs: the median over the turns."""
    median = statistics.median
    return median(median(one[row]) / median(other[row]) for one, other in zip(ours, theirs, strict=True))


def worst(models: list[dict[str, Any]], what: str) -> float | None:
    """The least ratio to the peer that is built the same."""
    ratios = [row["ratio_to_same"] for model in models for row in model["rows"] if row["what"] == what]
    return min(ratios) if ratios else None


def report(models: list[Measured], arguments: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    told = [
        {
            "name": model.name,
            "bytes": model.path.stat().st_size,
            "rows": rows(model),
            "turns": len(model.speeds["ours"]),
            "others_pct": max(model.others_pct),
        }
        for model in models
    ]
    house = [model for model in told if model["name"] == "house"]
    made = [model for model in told if model["name"] != "house"]
    figures = {
        "decode_ratio": worst(made, "write"),
        "prefill_ratio": worst(made, "read"),
        "house_decode_ratio": worst(house, "write"),
        "house_prefill_ratio": worst(house, "read"),
    }
    passed = all(figures[name] >= limit for name, limit in LIMITS.items() if figures[name] is not None)
    setting = {
        "threads": arguments.threads,
        "batch": PROMPT,
        "flash_attention": True,
        "tokens": arguments.tokens,
        "rounds": arguments.rounds,
        "cores": os.cpu_count(),
        "processor": processor(),
    }
    return {**figures, "models": told, "setting": setting, "limits": LIMITS, "ok": passed}


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of each side; all cores")
    parser.add_argument("--models", default="110m,1b,house", help="which; 110m,1b,house")
    parser.add_argument("--device", default="", help="as cuda0: of us, and where it is CUDA of the peer")
    parser.add_argument("--rounds", type=int, default=4, help="more of them are more exact")
    parser.add_argument("--tokens", type=int, default=128, help="how many are written")
    parser.add_argument(
        "--patience", type=float, default=120, help="seconds to wait for a machine at rest, per run"
    )
    parser.add_argument(
        "--quick", action="store_true", help="the small models, one round, one peer, no patience"
    )
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.models, arguments.rounds, arguments.patience = "110m,house", 1, 0
    models = [Measured(**vars(model(name)), times=TIMES[name]) for name in arguments.models.split(",")]
    if arguments.device:  # as users get it, no peer computes on a card
        benches = peers(stock=False, cuda=arguments.device.startswith("cuda"))
    else:
        benches = peers(stock=not arguments.quick)
    for one in models:
        measure(one, arguments, benches)
    figures = report(models, arguments)
    print(json.dumps(figures, indent=None if arguments.json else 2))
    return 0 if figures["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
