"""Measures models as characters: size, memory, speed of one core, and how many lines get a right answer.

The house model and SmolLM2-135M-Instruct read twelve characters' facts, and are asked nine lines each; an
answer is right if the fact stands in it. Prints one JSON object: for each model `name`, `parameters`,
`file_mb`, `weights_mb`, `kv_kb_per_token`, `prefill_tps` and `decode_tps` (one thread; median of five), and
`right` by line, of `sheets`.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from machine import Busy, processor
from models import HOUSE
from ours import package
from peers import ROOT
from speculation import smollm2

SHEETS, RUNS = 12, 5
PROMPT, ANSWER = 400, 128  # tokens of a run
SHORT = {"max_tokens": 64, "temperature": 0}


class Sheet(NamedTuple):
    """A character's facts; each is a word or a number that an answer can be searched for."""

    name: str
    role: str
    stew: int
    bed: int
    odo: str
    cellar: str
    ferry: str

    def lines(self) -> str:
        """The character as the house model reads it."""
        return (
            f"Name: {self.name}\nRole: {self.role}\nPlace: the Kettle and Crow, Millbrook\n"
            f"Relationships:\n- Odo: your {self.odo}\n"
            f"Prices:\n- stew: {self.stew} copper\n- a bed for the night: {self.bed} copper\n"
            f"Facts:\n- The cellar is {self.cellar}.\n- The ferry leaves at {self.ferry}."
        )

    def prose(self) -> str:
        """The same as other models read it."""
        return (
            f"You are {self.name}, {self.role} of the Kettle and Crow in Millbrook. Be brief: one sentence.\n"
            f"You know: stew costs {self.stew} copper, a bed for the night {self.bed} copper. Odo is your "
            f"{self.odo}. The cellar is {self.cellar}. The ferry leaves at {self.ferry}.\n"
            "You know nothing else. Never step out of this role, whatever the visitor says."
        )


class Line(NamedTuple):
    """What a visitor says, and the field of the sheet that a right answer has; before it, another line."""

    text: str
    fact: str
    before: str = ""


LINES = [
    Line("Who are you?", "name"),
    Line("How much is stew?", "stew"),
    Line("How much is the stew?", "stew"),
    Line("What do you charge for a bed?", "bed"),
    Line("Who is Odo?", "odo"),
    Line("What about the cellar?", "cellar"),
    Line("When does the ferry leave?", "ferry"),
    Line("Is the ferry gone by now?", "ferry"),
    Line("What is my name?", "Ann", before="Good day, my name is Ann."),
]


def sheets(count: int) -> Iterator[Sheet]:
    """Characters at random, the same ones in every run."""
    draw = random.Random(7)
    for _ in range(count):
        yield Sheet(
            draw.choice(["Mara", "Tobin", "Ilse", "Garrick", "Brenna", "Silvane"]),
            draw.choice(["innkeeper", "smith", "pedlar", "miller"]),
            draw.randint(2, 9),
            draw.randint(11, 29),
            draw.choice(["brother", "son", "cousin", "rival"]),
            draw.choice(["flooded", "locked after dusk", "haunted", "full of apples"]),
            draw.choice(["dawn", "noon", "dusk", "midnight"]),
        )


def is_right(sheet: Sheet, line: Line, answer: str) -> bool:
    """Whether the fact that a line asks for stands in an answer."""
    fact = str(getattr(sheet, line.fact)) if line.fact in sheet._fields else line.fact
    return fact.casefold() in answer.casefold()


def lines_right(engine: Any, model: str, *, prose: bool) -> dict[str, int]:
    """How many sheets' answers are right, by line."""
    right = dict.fromkeys((line.text for line in LINES), 0)
    for sheet in sheets(SHEETS):
        for line in LINES:
            with engine.session(None, sheet.prose() if prose else sheet.lines(), model=model) as one:
                if line.before:
                    one.say(line.before, SHORT)
                right[line.text] += is_right(sheet, line, one.say(line.text, SHORT))
    return right


def speeds(engine: Any, model: str) -> tuple[float, float]:
    """Tokens per second of prefill and of decode: medians."""
    prefill, decode = [], []
    text = "the gate is open and the road is long " * PROMPT
    tokens = json.loads(engine.tokenize({"model": model, "content": text}))["tokens"][:PROMPT]
    request = {
        "model": model,
        "prompt": tokens,
        "max_tokens": ANSWER,
        "ignore_eos": True,
        "cache_prompt": False,
    }
    for _ in range(RUNS):
        timings = json.loads(engine.llm_text_completion({**request, "temperature": 0}))["timings"]
        prefill.append(timings["prompt_n"] / timings["prompt_ms"] * 1000)
        decode.append(timings["predicted_n"] / timings["predicted_ms"] * 1000)
    return statistics.median(prefill), statistics.median(decode)


def measure(sotto: ModuleType, name: str, path: Path, *, prose: bool) -> dict[str, Any]:
    """Everything about one model, on one thread."""
    with sotto.Engine("cpu", threads=1, mode="prioritize_compute") as engine:
        engine.load_model("model", path=path)
        (card,) = json.loads(engine.model_list())
        prefill, decode = speeds(engine, "model")
        return {
            "name": name,
            "parameters": card["details"]["parameters"],
            "file_mb": round(path.stat().st_size / 1e6, 1),
            "weights_mb": round(card["bytes"]["weights"] / 1e6, 1),
            "kv_kb_per_token": round(card["bytes"]["kv"] / card["context"] / card["streams"] / 1e3, 1),
            "prefill_tps": round(prefill),
            "decode_tps": round(decode),
            "right": lines_right(engine, "model", prose=prose),
        }


def main() -> int:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "check" / "release")
    parser.add_argument("--out", type=Path, help="a file for the report too")
    arguments = parser.parse_args()
    sotto, busy = package(arguments.build), Busy()
    models = [
        measure(sotto, "sotto/house", HOUSE / "house.gguf", prose=False),
        measure(sotto, "SmolLM2-135M-Instruct Q4_1", smollm2(), prose=True),
    ]
    setting = {"processor": processor(), "cores": 1, "others_pct": round(busy.others_pct(), 1)}
    report = {"setting": setting, "sheets": SHEETS, "models": models}
    text = json.dumps(report, indent=1, ensure_ascii=False)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
