"""What loaded models take, against what the engine was told, and what cancelled requests leave."""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

import sotto
from ct2.embed import source
from ct2.generate import LINES, chat
from ct2.hear import MODEL, speak
from ct2.support import HOUSE, converted, done, engine

CANCELS = 200
TELL = """
import json, sys, psutil, sotto
from sotto.backends.ctranslate2 import CTranslate2
from importlib import import_module
module, folder, options, load = sys.argv[1:]
import_module(f"sotto.backends.ctranslate2.{module}")  # the libraries are not the model's
with sotto.Engine("cpu") as engine:
    engine.add_backend(CTranslate2())
    process = psutil.Process()
    before = peak = process.memory_info().rss
    engine.load_model("model", path=folder, backend="ctranslate2", options=json.loads(options))
    peak = process.memory_info().rss
    waiting = {engine.submit("completion", body) for body in json.loads(load)}
    while waiting:
        engine.wait(0.002)
        peak = max(peak, process.memory_info().rss)
        waiting -= {event.request for event in engine.events() if event.kind == "request_done"}
    print(json.dumps({"told": engine.memory()["used"], "taken": peak - before}))
"""


def told_ratio(module: str, folder: Path, load: list[dict[str, Any]] | None = None, **options: Any) -> float:
    """Bytes that the engine was told of a model over the bytes that a fresh process grew by.

    Args:
        module: Module of the model's class.
        folder: The model.
        load: Completions that run at the same time; the growth is the most until their end.
        options: Load options.
    """
    command = [sys.executable, "-c", TELL, module, str(folder), json.dumps(options), json.dumps(load or [])]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return round(found["told"] / found["taken"], 3)


def full_load() -> list[dict[str, Any]]:
    """Completions that fill the context of four streams."""
    prompt = "ale " * 450  # some 460 tokens of 1,024
    body = {"model": "model", "prompt": prompt, "max_tokens": 500, "ignore_eos": True, "temperature": 0}
    return [body] * 4


def cancelled(asked: sotto.Engine, bodies: list[tuple[str, dict[str, Any]]]) -> dict[str, float]:
    """Cancels at random moments. Returns the longest time to the end, and what the process grew by."""
    dice, longest = random.Random(11), 0.0

    def once() -> None:
        nonlocal longest
        request = asked.submit(*dice.choice(bodies))  # type: ignore[arg-type]
        time.sleep(dice.random() * 0.1)
        began = time.perf_counter()
        asked.cancel(request)
        while not any(event.kind == "request_done" and event.request == request for event in asked.events()):
            asked.wait(1)
        longest = max(longest, time.perf_counter() - began)

    for _ in range(CANCELS // 4):
        once()
    gc.collect()
    process = psutil.Process()
    threads, before = process.num_threads(), process.memory_info().rss
    for _ in range(CANCELS):
        once()
    gc.collect()
    grown = process.memory_info().rss - before
    return {
        "cancels": CANCELS,
        "longest_ms": round(1000 * longest, 1),
        "grown_mb": round(grown / 2**20, 1),
        "live_after": asked.stats().live,
        "threads_grown": process.num_threads() - threads,
    }


def measure(work: Path, turns: int) -> dict[str, Any]:
    """All figures of memory and cancels."""
    house, minilm = (
        converted(work / "house", HOUSE),
        converted(work / "minilm", source(work / "all-MiniLM-L6-v2")),
    )
    small = {"streams": 1, "context": 16, "prefix_cache_tokens": 0}
    found: dict[str, Any] = {
        "decoder_told_ratio": told_ratio("generator", house, **small),
        "decoder_int8_told_ratio": told_ratio("generator", house, compute_type="int8", **small),
        "decoder_full_told_ratio": told_ratio("generator", house, full_load(), prefix_cache_tokens=0),
        "encoder_told_ratio": told_ratio("encoder", minilm),
        "whisper_told_ratio": told_ratio("whisper", MODEL, compute_type="int8"),
    }
    file = str(speak("The gate is closed until the morning.", work / "line-0.wav"))
    with engine() as asked:
        asked.load_model("npc", path=house, backend="ctranslate2")
        asked.load_model("mind", path=minilm, backend="ctranslate2")
        asked.load_model("ears", path=MODEL, backend="ctranslate2", options={"compute_type": "int8"})
        bodies: list[tuple[str, dict[str, Any]]] = [
            *(("chat", chat("Brenna", line, max_tokens=200, ignore_eos=True)) for line in LINES),
            ("embed", {"model": "mind", "input": list(LINES) * 20}),
            ("transcribe", {"model": "ears", "file": file}),
        ]
        found |= cancelled(asked, bodies)
        done(asked, [asked.submit(*bodies[0])])  # type: ignore[arg-type]
    return found
