"""What a process has of memory that its engine's ledger does not know of, after much parking.

Sessions take turns on few places while the budget goes up and down, so that nearly every turn parks a
conversation and brings another back. In a process of its own: whatever else a process did stays in it.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from budget_plan import rss
from models import Model, model
from ours import package

MB = 1 << 20
SESSIONS, AT_ONCE, SHEET = 16, 5, 300
BUDGETS_MB = (0, 64, 100, 60)  # the house model takes 117 MB with three places, 56 with one
SETTLE_S = 2.0


def turns(engine: Any, one: Model, parkings: int, seed: int) -> None:
    """Runs `parkings` turns, a few at a time."""
    chance = random.Random(seed)
    sheets = [" ".join(chance.choices(one.words, k=SHEET)) for _ in range(SESSIONS)]
    sessions = [engine.session(f"character {i}", sheet, model=one.name) for i, sheet in enumerate(sheets)]
    for _ in range(-(-parkings // AT_ONCE)):
        engine.set_vram_budget_mb(chance.choice(BUDGETS_MB))
        speakers = [
            threading.Thread(target=session.say, args=("hello", {"max_tokens": 12}))
            for session in chance.sample(sessions, AT_ONCE)
        ]
        for speaker in speakers:
            speaker.start()
        for speaker in speakers:
            speaker.join()


def measure(build: Path, parkings: int, seed: int) -> dict[str, Any]:
    """In this process."""
    sotto, one = package(build), model("house")
    with tempfile.TemporaryDirectory() as folder:
        engine = sotto.Engine(mode="prioritize_compute", kv_spill_dir=folder, kv_spill_memory_mb=2)
        before = rss()
        engine.load_model(one.name, path=one.path, options={"parallel": 3})
        turns(engine, one, parkings, seed)
        engine.set_vram_budget_mb(BUDGETS_MB[-1])
        time.sleep(SETTLE_S)  # until the budget is kept, and what can be is tidied up
        memory = engine.memory()
        over = rss() - before - int(memory["used"])
        engine.close()
    return {"anonymous_over_ledger_mb": round(over / MB, 1), "parkings": parkings}


def anonymous(build: Path, parkings: int, seed: int) -> dict[str, Any]:
    """In a process of its own."""
    command = [sys.executable, __file__, str(build), str(parkings), str(seed)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(json.loads(told.splitlines()[-1]))


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
