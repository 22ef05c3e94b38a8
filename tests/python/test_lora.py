"""LoRA adapters on models of random weights: what they compute, and who uses which."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import sotto
import sotto.aio
from adapting import LITTLE, RANK, SEED, SPREAD, ask, cached, close, logprobs, text
from make_adapter import write_gguf, write_merged, write_peft

pytestmark = pytest.mark.real


@pytest.mark.row("A-158", "A-163", "A-164", "A-166")
@pytest.mark.parametrize("scale", [1.0, 0.3, 1.5, -0.5])
def test_an_adapter_computes_w_plus_s_b_a(adapted: sotto.Engine, lora_files: Path, scale: float) -> None:
    merged = write_merged(lora_files / f"merged{scale}.gguf", SEED, [(11, scale)], rank=RANK, spread=SPREAD)
    adapted.load_model("merged", path=merged)
    base = logprobs(adapted)
    adapted.lora_load("tiny", lora_files / "11.gguf")
    if scale != 1.0:
        adapted.lora_set_scale("tiny", scale)
    reference = logprobs(adapted, model="merged")
    adapted.unload_model("merged")
    assert close(logprobs(adapted), reference)
    assert not close(base, reference)


def test_two_adapters_in_one_request_add_up(adapted: sotto.Engine, lora_files: Path) -> None:
    both = [(11, 0.5), (12, 0.8)]
    adapted.load_model(
        "sum", path=write_merged(lora_files / "sum.gguf", SEED, both, rank=RANK, spread=SPREAD)
    )
    for seed, _ in both:
        adapted.lora_load("tiny", lora_files / f"{seed}.gguf", name=f"{seed}")
    lora = [{"name": f"{seed}", "scale": scale} for seed, scale in both]
    reference = logprobs(adapted, model="sum")
    adapted.unload_model("sum")
    assert close(logprobs(adapted, lora=lora), reference)
    assert logprobs(adapted, lora=lora[::-1]) == logprobs(adapted, lora=lora)


@pytest.mark.row("A-161", "A-165")
def test_scale_zero_and_unloading_give_the_bits_of_the_base(adapted: sotto.Engine, lora_files: Path) -> None:
    base = logprobs(adapted)
    adapted.lora_load("tiny", lora_files / "11.gguf")
    changed = logprobs(adapted)
    assert changed != base
    adapted.lora_set_scale("tiny", 0.0)
    assert logprobs(adapted) == base
    adapted.lora_set_scale("tiny", 1.0)
    assert logprobs(adapted) == changed
    assert logprobs(adapted, lora=[]) == base
    adapted.lora_unload("tiny")
    assert logprobs(adapted) == base
    adapted.lora_load("tiny", lora_files / "11.gguf", scale=0)
    assert adapted.lora_list("tiny")[0]["scale"] == 0
    assert logprobs(adapted) == base


@pytest.mark.row("A-168")
def test_a_second_load_replaces_the_first(adapted: sotto.Engine, lora_files: Path) -> None:
    adapted.lora_load("tiny", lora_files / "12.gguf")
    second = logprobs(adapted)
    adapted.lora_load("tiny", lora_files / "11.gguf")
    adapted.lora_load("tiny", lora_files / "12.gguf")
    assert logprobs(adapted) == second
    assert [one["name"] for one in adapted.lora_list("tiny")] == ["default"]


@pytest.mark.row("A-160")
def test_a_peft_folder_is_the_same_adapter(adapted: sotto.Engine, lora_files: Path, tmp_path: Path) -> None:
    adapted.lora_load("tiny", lora_files / "11.gguf")
    expected = logprobs(adapted)
    adapted.lora_load("tiny", write_peft(tmp_path / "peft", 11, rank=RANK, spread=SPREAD))
    assert logprobs(adapted) == expected
    folder = write_peft(tmp_path / "rslora", 11, rank=RANK, spread=SPREAD, use_rslora=True)
    adapted.lora_load("tiny", folder)
    assert logprobs(adapted) != expected  # alpha / sqrt(4), not alpha / 4
    adapted.lora_set_scale("tiny", 0.5)
    assert logprobs(adapted) == expected


def test_quantised_weights_stay_as_they_are(adapted: sotto.Engine, lora_files: Path) -> None:
    adapted.load_model("q4", path=lora_files / "quantised.gguf")
    weights = adapted.memory()["uses"]["weights"]["used"]
    base = logprobs(adapted, model="q4")
    adapted.lora_load("q4", lora_files / "11.gguf", name="x")
    assert adapted.memory()["uses"]["weights"]["used"] == weights
    assert logprobs(adapted, model="q4") == base
    assert not close(logprobs(adapted, model="q4", lora=[{"name": "x"}]), base)
    adapted.unload_model("q4")


def test_two_adapters_live_at_once_in_eight_streams(adapted: sotto.Engine, lora_files: Path) -> None:
    sets = [[{"name": "11"}], [{"name": "12"}], [], [{"name": "11", "scale": 0.5}]]
    for seed in (11, 12):
        adapted.lora_load("tiny", lora_files / f"{seed}.gguf", name=f"{seed}")
    alone = [text(adapted, tokens=24, lora=lora) for lora in sets]
    assert len(set(alone)) == len(sets)
    before = adapted.memory()
    numbers = {adapted.submit("completion", ask(tokens=24, lora=sets[at % 4]), at): at for at in range(8)}
    said, left = dict.fromkeys(numbers, ""), set(numbers)
    while left and adapted.wait(20):
        for event in adapted.events():
            said[event.request] += event.text if event.kind == "text" else ""
            assert event.status >= 0, event.error
            left -= {event.request} if event.kind == "request_done" else set()
    assert [said[number] for number in numbers] == [alone[at % 4] for at in range(8)]
    assert adapted.memory()["uses"]["adapter"] == before["uses"]["adapter"]  # nothing was loaded meanwhile


def test_the_prefix_cache_is_not_shared_between_sets(adapted: sotto.Engine, lora_files: Path) -> None:
    prompt = "the same long beginning of a prompt that is worth keeping for the next one"
    adapted.lora_load("tiny", lora_files / "11.gguf", name="x")
    lora = [{"name": "x"}]
    assert cached(adapted, prompt=prompt) <= LITTLE
    assert cached(adapted, prompt=prompt, lora=lora) <= LITTLE
    assert cached(adapted, prompt=prompt) > 8
    assert cached(adapted, prompt=prompt, lora=lora) > 8
    assert cached(adapted, prompt=prompt, lora=[{"name": "x", "scale": 0.5}]) <= LITTLE
    adapted.lora_set_scale("tiny", 0.25, name="x")
    assert cached(adapted, prompt=prompt, lora=lora) <= LITTLE
    assert text(adapted, prompt=prompt) == text(adapted, prompt=prompt, cache_prompt=True)


def test_a_saved_state_fits_its_adapters_alone(lora_files: Path, tmp_path: Path) -> None:
    prompt = "a text of some length that a state was saved of"
    state = {"model": "tiny", "prompt": prompt, "path": str(tmp_path / "state")}
    lora = [{"name": "x"}]

    def engine() -> sotto.Engine:
        opened = sotto.Engine("cpu", mode="prioritize_compute", threads=1)
        opened.load_model("tiny", path=lora_files / "tiny.gguf")
        opened.lora_load("tiny", lora_files / "11.gguf", name="x")
        return opened

    with engine() as saver:
        saver.save_state({**state, "lora": lora})
        expected = text(saver, prompt=prompt, lora=lora)
    with engine() as other:
        other.restore_state({"model": "tiny", "path": state["path"]})
        assert cached(other, prompt=prompt) == 0
        assert cached(other, prompt=prompt, lora=lora) > 8
        assert text(other, prompt=prompt, lora=lora, cache_prompt=True) == expected


def test_an_answer_under_way_finishes_as_it_began(adapted: sotto.Engine, lora_files: Path) -> None:
    adapted.lora_load("tiny", lora_files / "11.gguf")
    request = {**ask(tokens=120), "ignore_eos": True}
    expected = json.loads(adapted.llm_text_completion(request))["choices"][0]["text"]
    stream = adapted.llm_text_completion_stream(request, target_tps=400)
    pieces = [next(stream)]
    adapted.lora_set_scale("tiny", 0.1)
    adapted.lora_unload("tiny")
    base = text(adapted)
    pieces += list(stream)
    said = "".join(json.loads(piece)["choices"][0]["text"] for piece in pieces)
    assert said == expected
    assert base == text(adapted, lora=[])


def test_sessions_have_adapters_of_their_own(adapted: sotto.Engine, lora_files: Path) -> None:
    adapted.lora_load("tiny", lora_files / "11.gguf", name="x")
    short = {"max_tokens": 8, "temperature": 0}
    with adapted.session("plain", "You are.", model="tiny") as plain:
        base = plain.say("hello", short)
    with adapted.session("own", "You are.", model="tiny", lora=[{"name": "x"}]) as own:
        changed = own.say("hello", short)
    with adapted.session("set", "You are.", model="tiny") as late:
        late.set_lora([{"name": "x"}])
        assert late.say("hello", short) == changed
    assert changed != base


def test_asyncio_loads_adapters(lora_files: Path) -> None:
    async def play() -> None:
        async with sotto.aio.Engine("cpu", mode="prioritize_compute", threads=1) as engine:
            await engine.load_model("tiny", path=lora_files / "tiny.gguf")
            await engine.lora_load("tiny", lora_files / "11.gguf", name="x", scale=0.5)
            await engine.lora_set_scale("tiny", 0.8, name="x")
            assert [one["scale"] for one in engine.lora_list("tiny")] == [0.8]
            async with await engine.session("own", "You are.", model="tiny") as own:
                await own.set_lora([{"name": "x"}])
                await own.say("hello", {"max_tokens": 4})
            await engine.lora_unload("tiny", name="x")
            assert engine.lora_list("tiny") == []

    asyncio.run(play())


def test_numbers_that_overflow_fail_their_request_alone(adapted: sotto.Engine, tmp_path: Path) -> None:
    base = logprobs(adapted)
    adapted.lora_load("tiny", write_gguf(tmp_path / "huge.gguf", 13, spread=1e18), name="huge", scale=1000)
    with pytest.raises(sotto.InferenceError, match="computes NaN with these adapters"):
        text(adapted, lora=[{"name": "huge"}])
    for _ in range(8):  # in each slot
        assert logprobs(adapted) == base


@pytest.mark.row("A-159", "A-162", "A-167")
def test_what_is_not_loaded_is_refused(adapted: sotto.Engine, lora_files: Path) -> None:
    for call in (
        lambda: adapted.lora_load("nobody", lora_files / "11.gguf"),
        lambda: adapted.lora_unload("nobody"),
        lambda: adapted.lora_unload("tiny"),
        lambda: adapted.lora_set_scale("nobody", 1.0),
        lambda: adapted.lora_set_scale("tiny", 1.0),
        lambda: adapted.lora_list("nobody"),
    ):
        with pytest.raises(sotto.ModelLoadError) as error:
            call()
        assert error.value.status == sotto.Status.NOT_FOUND


@pytest.mark.row("A-166")
@pytest.mark.parametrize("scale", [float("nan"), float("inf"), -1001])
def test_scales_out_of_range_are_refused(adapted: sotto.Engine, lora_files: Path, scale: float) -> None:
    adapted.lora_load("tiny", lora_files / "11.gguf")
    for call in (
        lambda: adapted.lora_set_scale("tiny", scale),
        lambda: adapted.lora_load("tiny", lora_files / "12.gguf", scale=scale),
    ):
        with pytest.raises(ValueError, match=r"invalid scale .*: expected a number from -1000 to 1000"):
            call()


def test_the_adapters_are_within_the_budget(lora_files: Path) -> None:
    with sotto.Engine("cpu", mode="prioritize_compute", threads=1, vram_budget_mb=4) as engine:
        engine.load_model("tiny", path=lora_files / "tiny.gguf", options={"parallel": 1})
        used = engine.memory()["used"]
        path = write_gguf(lora_files / "large.gguf", 14, rank=32)
        with pytest.raises(sotto.ModelLoadError) as error:
            for at in range(40):
                engine.lora_load("tiny", path, name=f"{at}")
                assert engine.memory()["used"] <= 4 << 20
        assert error.value.status == sotto.Status.BUDGET
        assert engine.memory()["used"] > used
        assert text(engine, lora=[{"name": "0"}])
