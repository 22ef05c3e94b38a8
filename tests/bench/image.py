"""Images of the module sotto_diffusion beside stable-diffusion-cpp-python, in a process of each, in turn.

Both sides get the same model file, prompt, seed, denoise steps, guidance and threads; sampler, scheduler and
random numbers are the defaults of stable-diffusion.cpp. Of each model: seconds of a denoise step and of a
picture, peak memory of the process, and how near the pixels are. A step is the difference of a picture to one
of a single step, divided by the further steps. Ratios are ours to theirs: medians over turns that followed
each other. The models have random weights. Prints one JSON object, with `broken`: the limits that are not
kept.

    image.py --build build/check/release --json
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import sys
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import peers
from machine import Busy, processor
from sides import Ask, side

sys.path.append(str(peers.ROOT / "tests" / "diffusion"))

import sd1_shape  # needs the path above
import tiny_diffusion  # needs the path above

SIDE = Path(__file__).with_name("image_side.py")
FOLDER = peers.BUILD / "image"
EQUAL_DB = 99.0  # stands for pixels that are equal
LIMITS = {"step_ratio": ("<=", 1.03), "memory_ratio": ("<=", 1.05), "psnr_db": (">=", 50.0)}


class Case(NamedTuple):
    """A model, and the pictures that it is asked for."""

    model: str  # "tiny", "small" or "sd1"
    size: int
    steps: int
    guidance: float


CASES = {
    "tiny": Case("tiny", 256, 60, 1.0),
    "small-256": Case("small", 256, 4, 4.0),
    "sd1-256": Case("sd1", 256, 4, 4.0),
    "sd1-512": Case("sd1", 512, 3, 1.0),
}


def model(name: str) -> dict[str, Any]:
    """Returns where a model is, and its other files. Writes them if they are missing."""
    if name == "tiny":
        parts = tiny_diffusion.tiny(FOLDER / "tiny")
        return {"path": str(parts.diffusion), "parts": parts.options}
    path = FOLDER / f"{name}.gguf"
    if not path.exists():
        sd1_shape.sd1(path.with_suffix(".part"), small=name == "small").rename(path)
    return {"path": str(path), "parts": {}}


def start(who: str, python: str, threads: int) -> AbstractContextManager[Ask]:
    """Starts a side."""
    return side([python, str(SIDE), who, str(threads)], who)


def compared(case: Case, theirs: str, threads: int, turns: int) -> dict[str, Any]:
    """Returns the figures of a case."""
    seen: list[dict[str, dict[str, float]]] = []
    with ExitStack() as stack:
        pythons = {"ours": sys.executable, "theirs": theirs}
        sides = {who: stack.enter_context(start(who, python, threads)) for who, python in pythons.items()}
        for ask in sides.values():
            ask("load", **model(case.model), size=case.size)
        decibels = []
        for turn in range(-1, turns):  # the first one warms up
            order = random.Random(turn).sample(list(sides), 2)
            found = {who: picture(who, sides[who], case, turn) for who in order}
            decibels.append(psnr(*(pixels(who).read_bytes() for who in sides)))
            if turn >= 0:
                seen.append(found)
        memory = {who: ask("memory")["mb"] for who, ask in sides.items()}
    told = {"file_mb": file_mb(model(case.model)), "size": case.size, "steps": case.steps}
    equality = {"psnr_db": min(decibels), "pixels_equal": min(decibels) == EQUAL_DB}
    return {**told, **figures(seen, memory), **equality}


def file_mb(files: dict[str, Any]) -> float:
    """Returns the size of a model's files, in MB."""
    path = Path(files["path"])
    parts = [path.parent / name for name in files["parts"].values()]
    return round(sum(part.stat().st_size for part in (path, *parts)) / 1e6, 1)


def pixels(who: str) -> Path:
    """Returns where a side writes its pixels."""
    return FOLDER / f"{who}.rgba"


def picture(who: str, ask: Ask, case: Case, turn: int) -> dict[str, float]:
    """Returns the seconds of a picture, and of a denoise step of it."""

    def seconds(steps: int) -> float:
        told = ask(
            "picture",
            pixels=str(pixels(who)),
            prompt=f"a red fox beside an old lantern, number {turn}",
            negative_prompt="",
            size=case.size,
            steps=steps,
            guidance_scale=case.guidance,
            seed=1000 + turn,
        )
        return float(told["seconds"])

    single, whole = seconds(1), seconds(case.steps)
    return {"seconds": whole, "step": (whole - single) / (case.steps - 1)}


def psnr(ours: bytes, theirs: bytes) -> float:
    """Returns the peak signal-to-noise ratio of two RGBA images in dB, of their colours alone."""
    if len(ours) != len(theirs):
        sys.exit(f"an image has {len(ours)} bytes, the other {len(theirs)}")
    pairs = zip(ours, theirs, strict=True)
    error = sum((one - other) ** 2 for one, other in pairs) / (len(ours) * 3 / 4)
    return round(min(EQUAL_DB - 0.1, 10 * math.log10(255**2 / error)), 1) if error else EQUAL_DB


def figures(seen: list[dict[str, dict[str, float]]], memory: dict[str, float]) -> dict[str, Any]:
    """Returns ratios, and the raw figures of both sides."""
    steps = {who: [turn[who]["step"] for turn in seen] for who in memory}
    whole = {who: [turn[who]["seconds"] for turn in seen] for who in memory}
    told: dict[str, Any] = {
        "step_ratio": ratio(steps),
        "picture_ratio": ratio(whole),
        "memory_ratio": round(memory["ours"] / memory["theirs"], 3),
    }
    for name, one in (("step_s", steps), ("picture_s", whole)):
        for who, values in one.items():
            told[f"{name}_{who}"] = round(statistics.median(values), 4)
            told[f"{name}_{who}_turns"] = [round(value, 4) for value in values]
    return told | {f"memory_mb_{who}": round(mb, 1) for who, mb in memory.items()}


def ratio(values: dict[str, list[float]]) -> float:
    """Returns the median of the ratios, ours to theirs."""
    pairs = zip(values["ours"], values["theirs"], strict=True)
    return round(statistics.median(ours / theirs for ours, theirs in pairs), 3)


def broken(cases: dict[str, dict[str, Any]]) -> list[str]:
    """Returns the limits that are not kept, in words."""
    return [
        f"{name}: {figure} is {found[figure]}, expected {sign} {limit}"
        for name, found in cases.items()
        for figure, (sign, limit) in LIMITS.items()
        if not (found[figure] >= limit if sign == ">=" else found[figure] <= limit)
    ]


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=peers.ROOT / "build" / "check" / "release")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", action="store_true", help="on one line")
    given = parser.parse_args()
    os.environ["SOTTO_LIBRARY"] = str((given.build / "out" / "libsotto.so").resolve())
    os.environ["PYTHONPATH"] = str(peers.ROOT / "python")
    theirs, busy = str(peers.stable_diffusion_python()), Busy()
    FOLDER.mkdir(parents=True, exist_ok=True)
    cases = {}
    for name in given.cases:
        cases[name] = compared(CASES[name], theirs, given.threads, given.turns)
        print(name, cases[name], file=sys.stderr, flush=True)
    report: dict[str, Any] = {
        "processor": processor(),
        "threads": given.threads,
        "turns": given.turns,
        "others_pct": round(busy.others_pct(), 1),
        "cases": cases,
        "broken": broken(cases),
    }
    print(json.dumps(report, indent=None if given.json else 2))
    return 1 if report["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
