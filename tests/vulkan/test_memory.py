"""What the ledger has is what the device gave, whatever is asked of it."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import budget_operations
import pytest
from budget_operations import Operations, Wanted
from models import model

import sotto
from conftest import DEVICE, HOUSE, Counted

MB = 1 << 20
OPERATIONS = 200 if os.environ.get("SOTTO_FULL") == "1" else 60  # one takes a second on a processor
SCRATCH = MB  # of ggml's own, which grows as steps need it, and is not told


def test_the_ledger_has_what_was_allocated(engine: sotto.Engine, counted: Counted) -> None:
    before = counted.bytes()
    engine.load_model(HOUSE)
    loaded = counted.bytes() - before
    body = {"model": HOUSE, "prompt": "The innkeeper said " * 60, "max_tokens": 8, "temperature": 0}
    engine.llm_text_completion(body)
    spoken = counted.bytes() - before
    told = engine.memory()
    (one,) = told["models"]
    print(f"counted {loaded} bytes when it was loaded, {spoken} once it spoke; told {told['used']} and {one}")
    # Some of what is the machine's is allocated through Vulkan, so that the device can read it.
    assert told["used"] <= loaded <= spoken <= told["used"] + one["host"] + SCRATCH
    engine.unload_model(HOUSE)
    gc.collect()
    assert engine.memory()["used"] == 0
    print(f"{counted.bytes() - before} bytes are left")
    assert counted.bytes() - before <= SCRATCH


def test_the_driver_is_asked_too(house: sotto.Engine, counted: Counted) -> None:
    device = house.memory()["system"]["device"]
    print(f"of the device's memory, its driver says {device}")
    assert device["process"] == counted.bytes() > 1 << 24
    assert device["available"] + device["process"] == device["total"] // 2
    with sotto.Engine("cpu") as processor:
        assert processor.memory()["system"]["device"] is None


def test_fewer_layers_where_they_do_not_fit(engine: sotto.Engine) -> None:
    options = {"parallel": 1, "kv_type": "f16", "context": 256, "batch": 32}
    (whole,) = engine.plan_model(HOUSE, options=options)["rungs"]
    assert whole["layers"] > 2
    for share in (0.8, 0.6):
        budget = int(whole["bytes"] * share) // MB
        plan = engine.plan_model(HOUSE, options=options, budget_mb=budget)
        print(f"{budget} MB: {plan['rung']}, {plan['rungs'][-1]['layers']} layers")
        assert [rung["rung"] for rung in plan["rungs"]] == ["as asked", "fewer layers"]
        rung = plan["rungs"][-1]
        assert plan["fits"] and rung["bytes"] <= budget * MB and 0 < rung["layers"] < whole["layers"]
        assert rung["host"] > whole["host"]
    fixed = engine.plan_model(HOUSE, options={**options, "gpu_layers": 8}, budget_mb=1)
    assert [rung["rung"] for rung in fixed["rungs"]] == ["as asked"] and not fixed["fits"]


def test_a_model_that_lost_layers_speaks(counted: Counted) -> None:
    with sotto.Engine(DEVICE, mode="prioritize_compute") as engine:
        options = {"parallel": 1, "kv_type": "f16", "context": 256}
        (whole,) = engine.plan_model(HOUSE, options=options)["rungs"]
        budget = int(whole["bytes"] * 0.6) // MB
        engine.set_vram_budget_mb(budget)
        counted.peak()
        engine.load_model(HOUSE, options=options)
        assert engine.llm_text_completion({"model": HOUSE, "prompt": "The", "max_tokens": 4})
        assert engine.memory()["used"] <= budget * MB


@pytest.mark.parametrize("seed", [7])
def test_whatever_is_asked_the_budget_holds(
    seed: int, tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget_operations, "PATIENCE_S", 300.0)  # a processor plays the card
    house = model("house")
    few = {"parallel": 2, "context": 512, "kv_type": "f16"}
    wanted = [Wanted("house", house, {}), Wanted("few", house, few)]
    before = counted.bytes()
    report = Operations(sotto, wanted, seed, tmp_path, DEVICE).run(OPERATIONS)
    left = counted.bytes() - before
    print({**report, "left": left})
    assert report["operations"] == OPERATIONS
    assert (report["violations"], report["failed_streams"], report["unclear_refusals"]) == (0, 0, 0)
    assert report["bytes_left"] == 0 and left <= SCRATCH
