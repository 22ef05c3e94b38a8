"""What loaded models take, against what the engine was told, and what cancelled requests leave."""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil

import sotto
from ct2.generate import LINES, chat
from ct2.hear import MODEL, speak
from ct2.support import done, engine

CANCELS = 200
TELL = """
import json, sys, psutil, sotto
from sotto.backends.ctranslate2 import CTranslate2
from importlib import import_module
module, folder, options = sys.argv[1:]
import_module(f"sotto.backends.ctranslate2.{module}")  # the libraries are not the model's
with sotto.Engine("cpu") as engine:
    engine.add_backend(CTranslate2())
    before = psutil.Process().memory_info().rss
    engine.load_model("model", path=folder, backend="ctranslate2", options=json.loads(options))
    after = psutil.Process().memory_info().rss
    print(json.dumps({"told": engine.memory()["used"], "taken": after - before}))
"""


def told_of_taken(module: str, folder: Path, **options: Any) -> float:
    """Bytes that the engine was told of a model over bytes that a fresh process grew by."""
    command = [sys.executable, "-c", TELL, module, str(folder), json.dumps(options)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return round(found["told"] / found["taken"], 3)


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
    threads, before = threading.active_count(), psutil.Process().memory_info().rss
    for _ in range(CANCELS):
        once()
    gc.collect()
    grown = psutil.Process().memory_info().rss - before
    return {
        "cancels": CANCELS,
        "longest_ms": round(1000 * longest, 1),
        "grown_mb": round(grown / 2**20, 1),
        "live_after": asked.stats().live,
        "threads_grown": threading.active_count() - threads,
    }


def measure(work: Path, turns: int) -> dict[str, Any]:
    """All figures of memory and cancels."""
    house, minilm = work / "house", work / "minilm"
    found: dict[str, Any] = {
        "decoder_told_of_taken": told_of_taken("generator", house, streams=1, context=16, static_tokens=0),
        "encoder_told_of_taken": told_of_taken("encoder", minilm),
        "whisper_told_of_taken": told_of_taken("whisper", MODEL, compute_type="int8"),
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
