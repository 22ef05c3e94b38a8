"""Loads damaged LoRA adapters, each in a process of its own: refused by name, or computed with; no crash.

`python tests/fuzz/adapter_mutants.py --count 5000` prints every fault; a test in
tests/python runs a few hundred. SOTTO_LIBRARY and PYTHONPATH name what is tested, as for the Python tests.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import gguf_model
from adapter_mutations import damaged
from model_mutants import ROOT, Outcome, in_child, make_models

import sotto

sys.path.append(str(ROOT / "tests" / "data"))
from make_adapter import write_gguf  # needs the path above

ADAPTERS = {"tiny.gguf": "adapter.gguf", "house.gguf": "pirate.gguf"}  # model -> its adapter


def text(engine: sotto.Engine) -> str:
    """A few greedy tokens."""
    ask = {
        "model": "m",
        "prompt": "who is the king",
        "max_tokens": 4,
        "temperature": 0,
        "cache_prompt": False,
    }
    return str(json.loads(engine.llm_text_completion(ask))["choices"][0]["text"])


def load(model: Path, adapter: Path, *, must_fail: bool) -> str:
    """Loads a model and an adapter, has them say a few tokens, and unloads the adapter.

    Returns `spoke`, or the error. Raises `AssertionError` if an adapter that must be refused was loaded, or
    if the model computes otherwise afterwards.
    """
    with sotto.Engine(threads=1, mode="prioritize_compute") as engine:
        engine.load_model("m", path=str(model), options={"parallel": 1})
        before, said = text(engine), "spoke"
        try:
            engine.lora_load("m", adapter)
        except sotto.ModelLoadError as error:
            said = str(error)
            assert str(adapter) in said, said
        else:
            assert not must_fail, "taken"
            try:
                text(engine)
            except sotto.SottoError as error:  # numbers that are finite may have products that are not
                said = f"loaded, then {type(error).__name__}: {error}"
            engine.lora_unload("m")
        assert engine.lora_list("m") == []
        assert text(engine) == before, "the model computes otherwise without the adapter"
    return said


def make_adapters(folder: Path) -> dict[str, gguf_model.Model]:
    """Writes the models; returns an adapter of each."""
    make_models(folder)
    write_gguf(folder / "adapter.gguf", 11, spread=0.1)
    (folder / "pirate.gguf").symlink_to(ROOT / "samples/house_model/pirate.gguf")
    return {model: gguf_model.read(folder / adapter) for model, adapter in ADAPTERS.items()}


def examine(folder: Path, adapters: dict[str, gguf_model.Model], seed: int) -> Outcome:
    """Damages an adapter as `seed` says, and loads it."""
    dice = random.Random(seed)
    base = dice.choices(list(ADAPTERS), (5, 1))[0]
    path = folder / "adapter-mutant.gguf"
    damage = damaged(adapters[base], dice, path)
    found = in_child(lambda: load(folder / base, path, must_fail=damage.must_fail), folder / "said")
    return Outcome(base, seed, damage.change, *found)


def run(count: int, first: int = 0, keep: Path | None = None) -> list[Outcome]:
    """Examines `count` damaged adapters. With `keep`, a copy of each at fault is left in that folder."""
    outcomes = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        adapters = make_adapters(folder)
        for seed in range(first, first + count):
            outcomes.append(examine(folder, adapters, seed))
            if outcomes[-1].fault and keep is not None:
                (folder / "adapter-mutant.gguf").replace(keep / f"{seed}-{outcomes[-1].base}")
    return outcomes


def main() -> None:
    """Prints every fault and a summary; exits with 1 if there was one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--keep", type=Path, help="a folder for the adapters at fault")
    arguments = parser.parse_args()
    outcomes = run(arguments.count, arguments.first, arguments.keep)
    for outcome in outcomes:
        if outcome.fault:
            what = f"seed {outcome.seed}, {outcome.base}, {outcome.change}"
            print(f"{outcome.fault}: {what}: {outcome.said[:300]}")
    kinds = Counter("spoke" if one.said == "spoke" else "refused" for one in outcomes)
    faults = sum(bool(one.fault) for one in outcomes)
    slowest, largest = max(one.seconds for one in outcomes), max(one.bytes for one in outcomes)
    print(
        f"{len(outcomes)} adapters: {faults} faults, {dict(kinds)}, <= {slowest:.1f} s, <= {largest >> 20} MB"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
