"""Cards are shared, let go, and left as they were found: on this machine's driver, or on the double of it."""

from __future__ import annotations

import pytest
from machine_card import CIG_D3D12, CIG_VULKAN
from rung import attach

import sotto
from conftest import REAL, Card

CYCLES = 200
GROWN = 64 << 20  # bytes of a card's memory that may be more after that: drivers keep some


def asked(engine: sotto.Engine, card: Card) -> str:
    """What it says to something."""
    return engine.llm_text_completion({"model": card.model, "prompt": "The innkeeper said", "max_tokens": 4})


def test_what_is_told_of_a_card_is_what_the_driver_says(card: Card) -> None:
    gpus = sotto.gpu.gpus()
    assert len(gpus) == card.driver.count
    for at, gpu in enumerate(gpus):
        assert card.driver.uuid(at) == f"GPU-{gpu.uuid}"
        attributes = (card.driver.attribute(CIG_D3D12, at), card.driver.attribute(CIG_VULKAN, at))
        print(f"{gpu.name}: attributes 135 and 138 are {attributes}")
        # the attributes are necessary, but not sufficient: driver, CUDA, card and system count too
        assert not gpu.cig_d3d12 or (attributes[0] == 1 and gpu.luid)
        assert not gpu.cig_vulkan or attributes[1] == 1
        assert (gpu.cig_d3d12_reason == "") is gpu.cig_d3d12 and (
            gpu.cig_vulkan_reason == ""
        ) is gpu.cig_vulkan


def test_models_run_in_a_context_that_is_handed_over(card: Card) -> None:
    with card.engine() as engine:
        assert attach(engine, sotto.gpu.Cuda(card.context)) == "cuda"
        shown = engine.describe()["gpu"]
        assert shown["not_taken"] == [{"rung": "cig", "reason": "cuda->context is not a CiG context"}]
        assert asked(engine, card)
        if REAL:
            (told,) = engine.memory()["models"]
            assert told["weights"] > 1 << 20
        assert card.driver.current() == 0  # nothing of the calling thread is changed
        assert engine.detach_gpu() and asked(engine, card)


def test_what_is_closer_than_a_context_can_be_is_refused(card: Card) -> None:
    with card.engine() as engine:
        with pytest.raises(
            sotto.SottoError, match="invalid gpu->min_sharing 'cig': expected at most 'cuda' here"
        ):
            engine.attach_gpu(sotto.gpu.Cuda(card.context), min_sharing="cig")
        assert engine.describe()["gpu"] is None and asked(engine, card)


def test_attached_and_detached_again_and_again(card: Card) -> None:
    with card.engine() as engine:
        for cycle in range(CYCLES):
            engine.attach_gpu(sotto.gpu.Cuda(card.context))
            if cycle % 50 == 0:
                assert asked(engine, card)
            engine.detach_gpu()
            if cycle == 0:
                before = card.nvml.memory().used if card.nvml else 0
        after = card.nvml.memory().used if card.nvml else 0
        print(f"{CYCLES} cycles, {after - before} bytes more")
        assert after - before <= GROWN


def test_a_queue_of_no_card_of_theirs_falls_to_the_processor(card: Card) -> None:
    with card.engine() as engine:
        assert attach(engine, sotto.gpu.D3D12(0x2900, 0x2800, luid=0x7)) == "cpu"
        why = engine.describe()["gpu"]["not_taken"][0]["reason"]
        assert "no CUDA device has the LUID 0x7" in why and asked(engine, card)
