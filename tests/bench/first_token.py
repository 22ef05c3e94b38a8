"""How soon the first token comes after a prompt of 512 tokens that nobody knows yet, on a machine at rest.

Ours in the mode that gives models the whole machine, a llama-server as its users get it, and CTranslate2 on a
model of the same shape with 8-bit weights. All have every core. Turns follow each other in random order; a
ratio is the median of those of each turn.

    first_token.py --build build/check/release
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import peers
from commands import given, said
from llama_server import Talk, served
from machine import processor, wait_for_rest
from models import Model, model, shape

CORES = os.cpu_count() or 1
PROMPT = 512  # tokens
LIMITS = {"over_llama_server": 0.75, "over_ctranslate2": 1.0}


class Runs:
    """Each side's run of a few prompts: milliseconds to the first token, the median."""

    def __init__(self, arguments: argparse.Namespace, one: Model, folder: Path, until: ExitStack) -> None:
        self.bench = arguments.build / "bench" / "sotto_bench_first_answer"
        self.model, self.words, self.times = one, one.write_words(folder), arguments.times
        self.seconds = arguments.seconds
        self.chance = random.Random(1)
        server = peers.as_users_get_it("llama-server")
        self.port = until.enter_context(served(server, one, Talk(1, PROMPT, 1), CORES))
        self.ctranslate2_process = until.enter_context(self.ctranslate2_of(one, folder))
        until.callback(self.ctranslate2_process.stdin.close)  # type: ignore[union-attr]

    def ctranslate2_of(self, one: Model, folder: Path) -> subprocess.Popen[str]:
        """It, ready."""
        script = peers.PEER / "ctranslate2_reads.py"
        asked = [folder / "ctranslate2", CORES, json.dumps(shape(one.name))]
        command = [peers.ctranslate2_python(), script, *asked]
        return subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ours(self) -> float:
        """Through the C ABI."""
        talk = given(prompt=PROMPT, pause_ms=0, mode="prioritize_compute", warmup=1)
        asked = given(seconds=self.seconds, model=self.model.path, words=self.words)
        return float(statistics.median(said([self.bench, *asked, *talk])["first_token_ms"]))

    def llama_server(self) -> float:
        """Over HTTP, on a connection of its own: about a millisecond."""
        return statistics.median(self.llama_server_once() for _ in range(self.times))

    def llama_server_once(self) -> float:
        """A prompt of as many words, one less than tokens are wanted: the model puts one before it."""
        words = " " + " ".join(self.chance.choices(self.model.words, k=PROMPT - 1))
        body = {"prompt": words, "n_predict": 1, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/completion",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        began = perf_counter()
        with urllib.request.urlopen(request, timeout=60) as answer:
            told = json.load(answer)
        took = 1000 * (perf_counter() - began)
        if told["timings"]["prompt_n"] != PROMPT:
            sys.exit(f"of {PROMPT} tokens llama-server read {told['timings']['prompt_n']}")
        return took

    def ctranslate2(self) -> float:
        """By its Python package."""
        return statistics.median(self.ctranslate2_once() for _ in range(self.times))

    def ctranslate2_once(self) -> float:
        """A prompt of as many tokens."""
        pipe = self.ctranslate2_process
        assert pipe.stdin and pipe.stdout
        pipe.stdin.write(json.dumps([self.chance.randrange(300, 32_000) for _ in range(PROMPT)]) + "\n")
        pipe.stdin.flush()
        return float(pipe.stdout.readline())


def measure(arguments: argparse.Namespace, name: str, folder: Path) -> dict[str, Any]:
    """A model's figures."""
    chance = random.Random(2)
    turns = []
    with ExitStack() as until:
        runs = Runs(arguments, model(name), folder, until)
        who: dict[str, Callable[[], float]] = {
            one.__name__: one for one in (runs.ours, runs.llama_server, runs.ctranslate2)
        }
        for one in who.values():
            one()  # its memory is touched from here on
        for _ in range(arguments.turns):
            found = {}
            for side in chance.sample(list(who), len(who)):
                wait_for_rest(monotonic() + arguments.patience)
                found[side] = who[side]()
            turns.append(found)
            shown = ", ".join(f"{side} {found[side]:.0f} ms" for side in who)
            print(f"{name} {shown}", file=sys.stderr, flush=True)
    median = statistics.median
    told: dict[str, Any] = {f"{side}_ms": round(median(found[side] for found in turns), 1) for side in who}
    for side in ("llama_server", "ctranslate2"):
        told[f"over_{side}"] = round(median(found["ours"] / found[side] for found in turns), 3)
    return {"name": name, **told, "turns": len(turns)}


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--models", default="110m", help="which: 110m, 1b (110m)")
    parser.add_argument("--turns", type=int, default=7, help="more of them are more exact (7)")
    parser.add_argument("--times", type=int, default=5, help="that a peer is asked in a turn (5)")
    parser.add_argument("--seconds", type=float, default=4, help="that ours is asked in a turn (4)")
    parser.add_argument(
        "--patience", type=float, default=15, help="seconds to wait for a machine at rest, per run (15)"
    )
    arguments = parser.parse_args()
    models = []
    for name in arguments.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            models.append(measure(arguments, name, Path(folder)))
    figures = {name: max(one[name] for one in models) for name in LIMITS}
    broken = [
        f"{name} {figures[name]}, at most {most}" for name, most in LIMITS.items() if figures[name] > most
    ]
    setting = {"prompt": PROMPT, "cores": CORES, "processor": processor()}
    told = {**figures, "models": models, "setting": setting, "limits": LIMITS, "broken": broken}
    print(json.dumps({**told, "ok": not broken}, indent=None if arguments.json else 2))
    return 0 if not broken else 1


if __name__ == "__main__":
    sys.exit(main())
