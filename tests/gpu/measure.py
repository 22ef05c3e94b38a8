"""The parts of run.py that measure: each returns figures, and whether they are within their limits."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from machine_card import Driver, Missing
from models import Model, model  # needs the path above
from peers import ROOT

NVIDIA = 0x10DE  # a vendor of Vulkan devices
SHARED = ("cig", "cuda")  # rungs on which models compute on the renderer's card
MOST_OFF_PCT = 5.0  # what the ledger says of a card's memory, from what its driver says
MOST_OVER_LIMIT_PCT = 10.0  # of slices
PATIENCE_S = 2.0  # until a lowered budget holds
Figures = dict[str, Any]


@dataclass
class Run:
    """What is measured, and on what."""

    arguments: argparse.Namespace
    build: Path  # a native build
    device: str  # as engines have it
    sotto: ModuleType
    in_use: Callable[[Any], int]  # bytes of the device's memory, asked of its driver

    @property
    def rehearses(self) -> bool:
        return not self.device.startswith("cuda")

    @property
    def models(self) -> list[Model]:
        """The house model and one of the size that games take; or the former alone, in a hurry."""
        return [model(name) for name in (["house"] if self.arguments.quick else ["house", "1b"])]


def within(figures: Figures, ok: bool) -> Figures:
    """With the verdict."""
    return {**figures, "ok": ok}


def speed(run: Run) -> Figures:
    """Tokens a second, of llama-bench's on the same llama.cpp and the same card."""
    names = ",".join(one.name for one in run.models)
    command = [sys.executable, ROOT / "tests" / "bench" / "decode.py", "--json", "--build", run.build]
    command += ["--models", names, "--rounds", "1" if run.arguments.quick else "4", "--device", run.device]
    command += ["--patience", "0" if run.arguments.quick else "120"]
    command += ["--tokens", "8" if run.arguments.quick else "128"]
    alone = {} if run.rehearses else {"CUDA_VISIBLE_DEVICES": Driver().uuid()}  # the peer takes all it sees
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **alone},
    )
    if not done.stdout.startswith("{"):
        return within({"why": (done.stderr or done.stdout)[-2000:]}, False)
    told = json.loads(done.stdout)
    ratios = [row["ratio_to_same"] for one in told["models"] for row in one["rows"]]
    figures = {"least_ratio": min(ratios), "limits": told["limits"], "models": told["models"]}
    return within(figures, told["ok"])  # of the house model less is asked


def budget(run: Run) -> Figures:
    """What a model takes as the ledger has it, and as the driver does, once a first one has begun."""
    big = run.models[-1]
    ask = {"prompt": " ".join(big.words[:200]), "max_tokens": 16, "ignore_eos": True}
    with run.sotto.Engine(run.device, mode="prioritize_compute") as engine:

        def loaded(name: str, options: dict[str, Any]) -> None:
            engine.load_model(name, path=str(big.path), options=options)
            engine.llm_text_completion({"model": name, **ask})

        loaded("first", {"parallel": 1, "context": 512})
        taken, told = -run.in_use(engine), -engine.memory()["used"]
        loaded("second", {"parallel": 8, "context": 2048, "kv_type": "f16"})
        taken, told = taken + run.in_use(engine), told + engine.memory()["used"]
        lowered = [lower(engine, share) for share in (0.75, 0.5)]  # of what is in use
    off = 100 * abs(told - taken) / max(1, taken)
    figures = {"ledger_bytes": told, "driver_bytes": taken, "off_pct": round(off, 2), "lowered": lowered}
    return within(figures, off <= MOST_OFF_PCT and not any(one["over"] for one in lowered))


def lower(engine: Any, share: float) -> Figures:
    """Grants so much of what is in use, and waits until that holds."""
    engine.set_vram_budget_mb(int(engine.memory()["used"] * share) >> 20)
    began = time.monotonic()
    while (memory := engine.memory())["over"] and time.monotonic() < began + PATIENCE_S:
        time.sleep(0.001)
    took = 1000 * (time.monotonic() - began)
    return {name: memory[name] for name in ("budget", "used", "over")} | {"ms": round(took, 1)}


def frames(run: Run) -> Figures:
    """Frame times of a renderer that hands over its device, and slices against their limits, in each mode."""
    try:
        from drawing import MODES, frames_in_modes
    except (ImportError, OSError) as error:
        raise Missing(
            f"nothing can be drawn without Vulkan's loader and the package vulkan: {error}"
        ) from error
    seconds = 3.0 if run.arguments.quick else 30.0
    vendor = 0 if run.rehearses else NVIDIA
    told = frames_in_modes(run.sotto, vendor, run.models[-1], seconds)
    slices = [told[mode]["slices"] for mode in MODES]
    rungs = [told[mode]["rung"] for mode in MODES]
    most = max(one["over_limit_pct"] for one in slices)
    figures = {"most_over_limit_pct": most, "is_cig": all(rung == "cig" for rung in rungs), **told}
    measured = all(one["limited"] > 0 for one in slices) and all(rung in SHARED for rung in rungs)
    return within(figures, measured and most <= MOST_OVER_LIMIT_PCT)


def pytest(run: Run, folder: str, **env: str) -> Figures:
    """Tests of that folder, as they are."""
    found = {**os.environ, "SOTTO_TEST_LIBRARY": str(run.build / "out"), **env}
    command = [sys.executable, "-m", "pytest", "-q", "-s", str(ROOT / "tests" / folder)]
    done = subprocess.run(command, env=found, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    told = {"said": lines[-1] if lines else done.stderr[-500:], "failed": failed}
    return within(told if done.returncode == 0 else {**told, "why": "tests failed"}, done.returncode == 0)


def devices(run: Run) -> Figures:
    """What the module says of the cards."""
    if run.rehearses:
        return within({"said": "the module's tests of its devices are for a card"}, True)
    test = run.build / "gpu" / "cuda_devices_test"
    done = subprocess.run([test], capture_output=True, text=True, check=False)
    told = [line.split("MESSAGE: ")[1] for line in done.stdout.splitlines() if "MESSAGE: " in line]
    failed = {} if done.returncode == 0 else {"why": done.stdout[-1000:] + done.stderr[-1000:]}
    return within({"said": told, **failed}, done.returncode == 0)


def sharing(run: Run) -> Figures:
    """The tests of sharing: on this machine's driver, or in a rehearsal on the double."""
    return pytest(run, "gpu", SOTTO_TEST_CUDA="double" if run.rehearses else "real")


def answers(run: Run) -> Figures:
    """Whether the likeliest tokens on the card are the processor's."""
    texts = [" ".join(run.models[0].words[at : at + 12]) for at in range(0, 600, 6)]
    texts = texts[:10] if run.arguments.quick else texts

    def likeliest(device: str) -> list[str]:
        with run.sotto.Engine(device, mode="prioritize_compute") as engine:
            engine.load_model("sotto/house")
            body = {"model": "sotto/house", "max_tokens": 1, "temperature": 0}
            said = (json.loads(engine.llm_text_completion({**body, "prompt": text})) for text in texts)
            return [one["choices"][0]["text"] for one in said]

    same = sum(ours == theirs for ours, theirs in zip(likeliest(run.device), likeliest("cpu"), strict=True))
    share = same / len(texts)
    return within({"places": len(texts), "same_pct": round(100 * share, 1)}, share >= 0.98)


PARTS: dict[str, Callable[[Run], Figures]] = {
    "devices": devices,
    "answers": answers,
    "sharing": sharing,
    "speed": speed,
    "budget": budget,
    "frames": frames,
}
