"""What it costs to have less memory: lowering under live streams, parking, and being reminded."""

from __future__ import annotations

import json
import random
import statistics
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from budget_account import AMPLE_MB, MB, Watch
from models import Model, model

STREAMS = 8
CONTEXTS = {"house": 2048, "110m": 512}  # of each of the live streams
LONG = {"house": 1200, "110m": 300}  # tokens of what they say
WORDS = 40  # of what they are asked
PATIENCE_S = 10.0  # for what is to come within one
SAID = 64  # tokens of each text that is compared
PROMPTS = {"house": 1500, "110m": 2000}  # tokens of what is parked, or worked through again
SHEET = 190  # words of a character that is parked among many


def engine_for(sotto: ModuleType, one: Model, options: dict[str, Any], **more: Any) -> Any:
    """One that counts all of its memory, with a model."""
    engine = sotto.Engine(mode="prioritize_compute", vram_budget_mb=AMPLE_MB, **more)
    engine.load_model(one.name, path=one.path, options=options)
    return engine


def chat(one: Model, words: list[str], tokens: int, **more: Any) -> dict[str, Any]:
    """A chat request with an answer of `tokens` tokens."""
    messages = [{"role": "user", "content": " ".join(words)}]
    return {"model": one.name, "messages": messages, "max_tokens": tokens, "ignore_eos": True, **more}


def half_mb(engine: Any) -> int:
    """Of what is in use."""
    return int(engine.memory()["used"]) // 2 // MB


class Crowd:
    """Streams that speak without a pause."""

    def __init__(self, engine: Any, one: Model, seed: int) -> None:
        self.engine, self.model, self.random = engine, one, random.Random(seed)
        self.live: dict[int, int] = {}  # tokens by request
        self.failed = 0

    def keep(self) -> None:
        """Whoever is done is followed by another."""
        for event in self.engine.events():
            if event.request not in self.live:
                continue
            self.live[event.request] = max(event.tokens, self.live[event.request])
            if event.kind == "request_done":
                self.failed += event.status < 0
                del self.live[event.request]
        while len(self.live) < STREAMS:
            words = self.random.choices(self.model.words, k=WORDS)
            request = self.engine.submit("chat", chat(self.model, words, LONG[self.model.name]))
            self.live[request] = 0

    def until_speaking(self) -> None:
        """All of them."""
        self.keep()
        end = time.monotonic() + 6 * PATIENCE_S
        while not self.speaking() and time.monotonic() < end:
            self.engine.wait(0.01)
            self.keep()

    def speaking(self) -> bool:
        """Whether all of them are, each in a place of its own; counts are those of the last slice."""
        (model,) = self.engine.memory()["models"]
        return bool(self.engine.stats().decoding == STREAMS == model["streams"])

    def close(self) -> None:
        """Ends them."""
        for request in self.live:
            self.engine.cancel(request)


def lower(crowd: Crowd) -> float:
    """How many ms it takes until half of the memory is free, under all of the streams."""
    crowd.until_speaking()
    engine, half = crowd.engine, half_mb(crowd.engine)
    began = time.monotonic()
    engine.set_vram_budget_mb(half)
    while engine.memory()["over"] and time.monotonic() < began + PATIENCE_S:
        time.sleep(0.0005)
    took = (time.monotonic() - began) * 1000
    crowd.keep()
    engine.set_vram_budget_mb(AMPLE_MB)
    return took


def lowering(
    sotto: ModuleType, names: list[str], times: int, kv_spill_dir: Path, seed: int
) -> dict[str, Any]:
    """By half, again and again."""
    rows, failed = [], 0
    for name in names:
        one = model(name)
        options = {"parallel": STREAMS, "context": CONTEXTS[name]}
        with engine_for(sotto, one, options, kv_spill_dir=kv_spill_dir) as engine:
            crowd = Crowd(engine, one, seed)
            took = [lower(crowd) for _ in range(times)]
            crowd.close()
            failed += crowd.failed
        rows.append({"model": name, "p50": round(statistics.median(took), 1), "worst": round(max(took), 1)})
    return {
        "lowering_ms": {
            "p50": max(row["p50"] for row in rows),
            "worst": max(row["worst"] for row in rows),
            "rows": rows,
        },
        "lowering_failed_streams": failed,
    }


def texts(
    sotto: ModuleType, one: Model, kv_spill_dir: Path, seed: int, *, lowered: bool
) -> tuple[list[str], int]:
    """What eight streams of a deterministic engine say, and how many of them were parked at once."""
    chance = random.Random(seed)
    options = {"parallel": STREAMS, "context": CONTEXTS[one.name]}
    parked = 0
    with engine_for(sotto, one, options, deterministic=True, kv_spill_dir=kv_spill_dir) as engine:
        asked = [
            chat(one, chance.choices(one.words, k=WORDS), SAID, temperature=0.8, seed=number)
            for number in range(STREAMS)
        ]
        said = {engine.submit("chat", body): "" for body in asked}
        left = set(said)
        while left:
            engine.wait(0.01)
            for event in engine.events():
                said[event.request] += event.text if event.kind == "text" else ""
                if event.kind == "request_done":
                    left.discard(event.request)
                    said[event.request] += "" if event.status >= 0 else f" [{event.error}]"
            if lowered and all(said.values()):
                engine.set_vram_budget_mb(half_mb(engine))
                lowered = False
            parked = max(parked, engine.stats().parked)
    return list(said.values()), parked


def same_text(sotto: ModuleType, kv_spill_dir: Path, seed: int) -> dict[str, Any]:
    """Whether all say the same where half of the memory is taken away meanwhile."""
    house = model("house")
    whole, _ = texts(sotto, house, kv_spill_dir, seed, lowered=False)
    less, parked = texts(sotto, house, kv_spill_dir, seed, lowered=True)
    return {"same_text": whole == less and parked > 0, "same_text_parked": parked}


def until_first(engine: Any, body: dict[str, Any]) -> tuple[float, int]:
    """Seconds until the first token of an answer, and how many tokens of its prompt were remembered."""
    began = time.monotonic()
    request = engine.submit("chat", body)
    first, cached = 0.0, 0
    while True:
        engine.wait(0.05)
        for event in engine.events():
            if event.request != request:
                continue
            if event.kind == "text" and not first:
                first = time.monotonic() - began
            if event.kind == "request_done":
                if event.status < 0:
                    raise RuntimeError(event.error)
                usage = json.loads(event.json)["usage"]
                cached = usage["prompt_tokens_details"]["cached_tokens"]
                return first, cached


def unpark_once(sotto: ModuleType, one: Model, kv_spill_dir: Path, chance: random.Random) -> dict[str, Any]:
    """A character whose place others had, and the same one that must be read again."""
    options = {"parallel": 2, "context": PROMPTS[one.name] + 256}
    sheet = " ".join(chance.choices(one.words, k=PROMPTS[one.name]))
    turn = chat(one, ["again"], 2)
    with engine_for(sotto, one, options, kv_spill_dir=kv_spill_dir, kv_spill_memory_mb=1024) as engine:
        mara = engine.session("mara", sheet, model=one.name)
        others = [engine.session(f"other {n}", model=one.name) for n in range(2)]
        until_first(engine, {**turn, "session": mara.id})
        for _ in range(2):  # both places, whichever is taken first
            for other in others:
                other.say(" ".join(chance.choices(one.words, k=WORDS)), {"max_tokens": 2})
        heard = mara.messages
        unpark_s, remembered = until_first(engine, {**turn, "session": mara.id})
    with engine_for(sotto, one, options) as engine:
        until_first(engine, chat(one, chance.choices(one.words, k=WORDS), 2))  # its threads are there now
        prefill_s, _ = until_first(engine, {**turn, "messages": [*heard, *turn["messages"]]})
    return {"unpark_s": unpark_s, "prefill_s": prefill_s, "remembered": remembered}


def unpark(sotto: ModuleType, name: str, times: int, kv_spill_dir: Path, seed: int) -> dict[str, Any]:
    """How much sooner who was parked speaks than who must be read again."""
    one, chance = model(name), random.Random(seed)
    rounds = [unpark_once(sotto, one, kv_spill_dir, chance) for _ in range(times)]
    return {
        "unpark_over_prefill": round(statistics.median(r["prefill_s"] / r["unpark_s"] for r in rounds), 1),
        "unpark": {
            "model": name,
            "tokens": PROMPTS[name],
            "remembered": min(r["remembered"] for r in rounds),
            "unpark_ms": round(1000 * statistics.median(r["unpark_s"] for r in rounds), 2),
            "prefill_ms": round(1000 * statistics.median(r["prefill_s"] for r in rounds), 1),
        },
    }


def parked(
    sotto: ModuleType, characters: int, cap_mb: int, asked: int, kv_spill_dir: Path, seed: int
) -> dict[str, Any]:
    """Many characters, of whom but few are in memory: any of them answers."""
    one, chance = model("house"), random.Random(seed)
    options = {"parallel": 4, "context": 512}
    with (
        engine_for(sotto, one, options, kv_spill_dir=kv_spill_dir, kv_spill_memory_mb=cap_mb) as engine,
        Watch(engine) as watch,
    ):
        all_of_them = []
        for number in range(characters):
            sheet = " ".join(chance.choices(one.words, k=SHEET))
            all_of_them.append(engine.session(f"character {number}", sheet, model=one.name))
        for character in all_of_them:
            until_first(engine, {**chat(one, ["hello"], 4), "session": character.id})
        figures = engine.memory()["parked"]
        answered, remembered = 0, 0
        for character in chance.sample(all_of_them, asked):
            _, cached = until_first(engine, {**chat(one, ["again"], 4), "session": character.id})
            answered += 1
            remembered += cached >= SHEET
    count = figures["count"]
    return {
        "parked": {
            "characters": characters,
            "kept": count,
            "bytes_per_character": round((figures["memory"] + figures["disk"]) / count) if count else None,
            "memory_cap_mb": cap_mb,
            "memory_most_mb": round(watch.most_parked / MB, 2),
            "disk_mb": round(figures["disk"] / MB, 1),
            "asked": asked,
            "answered": answered,
            "remembered": remembered,
        }
    }
