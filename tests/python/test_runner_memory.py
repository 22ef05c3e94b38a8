"""Devices and memory of a `Runner`, from the arguments of the reference interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner_house import text, write_models
from sotto.runner import (
    PagedCacheType,
    Runner,
    RunnerError,
    TextAutoMapParams,
    Which,
)
from sotto.runner.placement import Memory, Placement

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three models of random weights, and two adapters of the first."""
    return write_models(tmp_path_factory.mktemp("models"))


@pytest.mark.row("E-012")
def test_layers_of_devices(folder: Path) -> None:
    which = Which.GGUF(str(folder), "1.gguf")
    for good in (["0:1"], ["2"]):
        with Runner(which, num_device_layers=good) as runner:
            assert text(runner)
    for bad in (["zz"], ["0:1", "0:2"], ["0:"], [":1"], ["-1:2"], ["0:1:2"], [""], [], ["0:999999"]):
        with pytest.raises(ValueError, match="num_device_layers"):
            Runner(which, num_device_layers=bad)
    for wrong in ("0:1", 3, [1]):
        with pytest.raises(TypeError, match="num_device_layers"):
            Runner(which, num_device_layers=wrong)  # type: ignore[arg-type]


def placed(**fields: Any) -> Placement:
    given: dict[str, Any] = dict.fromkeys(
        ("num_device_layers", "pa_gpu_mem", "pa_gpu_mem_usage", "pa_ctxt_len", "pa_blk_size", "pa_cache_type")
    )
    given |= {"max_seqs": 4, "no_paged_attn": False, "paged_attn": False}
    return Placement(**{**given, **fields})


@pytest.mark.row("E-015", "E-016", "E-017")
@pytest.mark.parametrize("case", range(8))
def test_memory_by_priority(case: int) -> None:
    given = {"pa_ctxt_len": 1000, "pa_gpu_mem_usage": 0.5, "pa_gpu_mem": 64}
    fields = {name: value for at, (name, value) in enumerate(given.items()) if case >> at & 1}
    for cuda in (False, True):
        budget = placed(**fields).budget(Memory(1 << 34, 1 << 30, cuda))
        if "pa_ctxt_len" in fields:
            assert budget == 0
        elif "pa_gpu_mem_usage" in fields:
            assert budget == 1 << 33
        elif "pa_gpu_mem" in fields:
            assert budget == (1 << 30) + (64 << 20)
        else:
            assert budget == (int((1 << 34) * 0.9) if cuda else 0)
    options = placed(**fields).options(None, 512)
    assert options["context"] == 512
    assert options["parallel"] == (1 if "pa_ctxt_len" in fields else 4)


def test_contexts() -> None:
    assert placed().options(None, None) == {"context": 4096, "parallel": 4, "batch": 512}
    hints = TextAutoMapParams(max_seq_len=256, max_batch_size=8)
    assert placed().options(hints, 512) == {"context": 256, "parallel": 8, "batch": 512}
    assert placed(pa_ctxt_len=100).options(None, 512)["context"] == 100
    assert placed(pa_ctxt_len=2048).options(None, 512)["parallel"] == 4
    assert placed(num_device_layers=["0:3"]).options(None, 512)["gpu_layers"] == 3
    assert placed(no_paged_attn=True, pa_cache_type=PagedCacheType.Auto).options(None, 64)["context"] == 64
    for wrong in ({"max_seq_len": 0}, {"max_batch_size": 0}, {"max_batch_size": 65}):
        with pytest.raises(RunnerError):
            placed().options(TextAutoMapParams(**wrong), None)


@pytest.mark.row("E-020")
def test_wrong_memory() -> None:
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"pa_gpu_mem": 0}, "pa_gpu_mem"),
        ({"pa_gpu_mem": -1}, "pa_gpu_mem"),
        ({"pa_gpu_mem_usage": 1.5}, "pa_gpu_mem_usage"),
        ({"pa_gpu_mem_usage": 0}, "pa_gpu_mem_usage"),
        ({"pa_gpu_mem_usage": float("nan")}, "pa_gpu_mem_usage"),
        ({"pa_ctxt_len": 1}, "pa_ctxt_len"),
        ({"no_paged_attn": True, "paged_attn": True}, "paged_attn"),
    ]
    for fields, name in wrongs:
        with pytest.raises(ValueError, match=name):
            placed(**fields)
    for name in ("pa_gpu_mem", "pa_gpu_mem_usage", "pa_ctxt_len", "pa_cache_type", "no_paged_attn"):
        with pytest.raises(TypeError, match=name):
            placed(**{name: "1"})


@pytest.mark.row("E-015")
def test_a_budget_is_set(folder: Path) -> None:
    with Runner(Which.GGUF(str(folder), "1.gguf"), pa_gpu_mem=64) as runner:
        size = (folder / "1.gguf").stat().st_size
        assert runner._loader.engine.stats().vram_budget == (size + (64 << 20)) >> 20 << 20
        assert text(runner)
