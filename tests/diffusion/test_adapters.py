"""LoRA adapters of diffusion models."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from artist import files, refused
from tiny_diffusion import Parts, lora

import sotto
from conftest import load

PLAIN = {"embed_metadata": False, "seed": 3}


@pytest.fixture(scope="module")
def adapted(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sotto.Engine]:
    """An engine with the model "m", and its adapter "style"."""
    with sotto.Engine("cpu", mode="prioritize_compute") as made:
        load(made, parts)
        made.lora_load("m", lora(tmp_path_factory.mktemp("lora") / "style.safetensors"), name="style")
        yield made


def test_an_adapter_changes_the_image_by_its_scale_and_leaves_the_model(adapted: sotto.Engine) -> None:
    before = files(adapted, "m", **PLAIN)
    whole = files(adapted, "m", **PLAIN, lora=[{"name": "style"}])
    half = files(adapted, "m", **PLAIN, lora=[{"name": "style", "scale": 0.5}])
    assert len({*before, *whole, *half}) == 3
    assert files(adapted, "m", **PLAIN, lora=[{"name": "style"}]) == whole
    assert files(adapted, "m", **PLAIN) == before


def test_a_default_adapter_is_used_without_a_field(adapted: sotto.Engine, tmp_path: Path) -> None:
    before = files(adapted, "m", **PLAIN)
    adapted.lora_load("m", lora(tmp_path / "own.safetensors", seed=5))
    try:
        assert files(adapted, "m", **PLAIN) != before
        assert files(adapted, "m", **PLAIN, lora=[]) == before
    finally:
        adapted.lora_unload("m")
    assert files(adapted, "m", **PLAIN) == before


def test_memory_of_an_adapter_is_charged_and_given_back(adapted: sotto.Engine, tmp_path: Path) -> None:
    path = lora(tmp_path / "other.safetensors")
    adapted.lora_load("m", path, name="other")
    with_it = adapted.memory()["used"]
    adapted.lora_unload("m", name="other")
    late = time.monotonic() + 10
    while adapted.memory()["used"] > with_it - path.stat().st_size and time.monotonic() < late:
        time.sleep(0.005)  # the engine frees it a moment after the request ended
    assert adapted.memory()["used"] <= with_it - path.stat().st_size


def test_an_adapter_that_is_none_is_refused(adapted: sotto.Engine, parts: Parts, tmp_path: Path) -> None:
    for path, said in ((parts.diffusion, "is no LoRA adapter"), (tmp_path / "none", "none")):
        with pytest.raises(sotto.ModelLoadError, match=said):
            adapted.lora_load("m", path, name="wrong")
    assert "missing" in refused(adapted, "m", lora=[{"name": "missing"}]).error
