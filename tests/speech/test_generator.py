"""Text of decoder models: the house model, converted, beside CTranslate2's own Generator and llama.cpp."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ctranslate2
import psutil
import pytest
from innkeeper import ASKED, SHEET, TOKENS, chat, ends, load, text_of
from tokenizers import Tokenizer

import sotto
from sotto.backends import check
from sotto.backends._cases import CASES, Target
from sotto.backends.base import Request
from sotto.backends.ctranslate2 import CTranslate2, generator
from sotto.backends.ctranslate2.batch import Batch


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests each batch has that is started."""
    sizes: list[int] = []

    class Counted(Batch):
        def __init__(self, library: Any, prompts: Any, options: Any) -> None:
            sizes.append(len(prompts))
            super().__init__(library, prompts, options)

    monkeypatch.setattr(generator, "Batch", Counted)
    return sizes


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Batch]:
    """The batches that are started."""
    found: list[Batch] = []

    class Kept(Batch):
        def __init__(self, library: Any, prompts: Any, options: Any) -> None:
            super().__init__(library, prompts, options)
            found.append(self)

    monkeypatch.setattr(generator, "Batch", Kept)
    return found


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits until something holds."""
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_text_is_that_of_the_library_itself(npc: sotto.Engine, house: Path) -> None:
    stock = ctranslate2.Generator(str(house), intra_threads=1)
    tokenizer = Tokenizer.from_file(str(house / "tokenizer.json"))
    for line in ASKED:
        written = "".join(
            f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in (("system", SHEET), ("user", line))
        )
        written += "<|im_start|>assistant\n"
        tokens = tokenizer.encode(written, add_special_tokens=False).tokens
        theirs = stock.generate_batch(
            [tokens], max_length=TOKENS, include_prompt_in_result=False, end_token="<|im_end|>"
        )
        event = ends(npc, [npc.submit("chat", chat(line))])
        assert text_of(next(iter(event.values()))) == tokenizer.decode(theirs[0].sequences_ids[0]).strip()


def test_requests_of_one_frame_are_one_batch(npc: sotto.Engine, batches: list[int]) -> None:
    requests = [npc.submit("chat", chat(line)) for line in ASKED]
    found = ends(npc, requests)
    assert sum(batches) == len(ASKED) and len(batches) <= 2
    same = []
    for request, line in zip(requests, ASKED, strict=True):
        alone = next(iter(ends(npc, [npc.submit("chat", chat(line))]).values()))
        same.append(text_of(found[request]) == text_of(alone))
    assert sum(same) >= len(ASKED) - 1  # sums of a batch are rounded otherwise


def test_a_short_prompt_is_not_cut_by_a_long_one(npc: sotto.Engine, batches: list[int]) -> None:
    bodies = [chat(ASKED[0] * count, max_tokens=200, ignore_eos=True) for count in (1, 140)]
    found = ends(npc, [npc.submit("chat", body) for body in bodies])
    told = sorted(
        (json.loads(event.json)["usage"] for event in found.values()), key=lambda one: one["prompt_tokens"]
    )
    assert told[0]["completion_tokens"] == 200
    assert told[1]["prompt_tokens"] > 850 and batches == [1, 1]


def test_a_later_request_does_not_silence_others(npc: sotto.Engine) -> None:
    requests, told, longest = [], {}, 0.0
    last = time.monotonic()
    while len(requests) < 4 or len(told) < 4:
        if len(requests) < 4 and len(told) == len(requests):  # all that were asked speak
            requests.append(npc.submit("chat", chat(ASKED[len(requests)], max_tokens=600, ignore_eos=True)))
        assert npc.wait(20)
        for event in npc.events():
            if event.kind == "text":
                told[event.request] = True
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
    for request in requests:
        npc.cancel(request)
    ends(npc, requests)
    assert longest < 5  # an answer takes longer, a prefill does not


def test_requests_that_sample_otherwise_are_batches_of_their_own(
    npc: sotto.Engine, batches: list[int]
) -> None:
    ends(npc, [npc.submit("chat", chat(ASKED[0], temperature=at)) for at in (0, 0.5, 1.5)])
    assert batches == [1, 1, 1]


def test_nothing_is_generated_ahead_of_a_paced_answer(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[float] = []
    take = Batch._on_token

    def counted(self: Batch, result: Any) -> bool:
        taken.append(time.monotonic())
        return take(self, result)

    monkeypatch.setattr(Batch, "_on_token", counted)
    with sotto.Engine("cpu") as engine:
        engine.add_backend(CTranslate2())
        load(engine, house)
        request = engine.submit("chat", chat(ASKED[0], max_tokens=100, ignore_eos=True), target_tps=10)
        told, ends_at = 0, time.monotonic() + 60
        while told < 8 and time.monotonic() < ends_at:
            engine.wait(0.05)
            told += sum(event.kind == "text" for event in engine.events())
        engine.cancel(request)
        assert told >= 8
        assert len(taken) <= told + 16  # the engine works a few tokens ahead


def test_the_system_message_is_cached_and_changes_no_text(house: Path) -> None:
    found = []
    for kept in (0, 1024):
        with sotto.Engine("cpu") as engine:
            engine.add_backend(CTranslate2())
            load(engine, house, prefix_cache_tokens=kept)
            found.append(
                [
                    engine.chat(chat(line)["messages"], model="npc", max_tokens=TOKENS, temperature=0).text
                    for line in ASKED * 2
                ]
            )
    assert sum(left == right for left, right in zip(*found, strict=True)) >= 15


def test_what_is_cached_and_what_is_dropped_is_told(engine: sotto.Engine, house: Path) -> None:
    load(engine, house, context=256, streams=1)
    used = [
        json.loads(ends(engine, [r := engine.submit("chat", chat(line))])[r].json)["usage"]
        for line in ASKED[:2]
    ]
    cached = [one["prompt_tokens_details"]["cached_tokens"] for one in used]
    assert cached[0] == 0 and 40 < cached[1] < used[1]["prompt_tokens"]


def test_system_messages_beyond_the_cache_are_answered_too(engine: sotto.Engine, house: Path) -> None:
    load(engine, house, prefix_cache_tokens=64)
    for at in range(6):
        messages = [
            {"role": "system", "content": f"You are guard {at}. {SHEET}"},
            {"role": "user", "content": "Hi."},
        ]
        assert engine.chat(messages, model="npc", max_tokens=8).text


def test_sampling_changes_with_the_temperature(npc: sotto.Engine) -> None:
    def many(**fields: Any) -> set[str]:
        return {
            text_of(event)
            for event in ends(npc, [npc.submit("chat", chat(ASKED[3], **fields)) for _ in range(6)]).values()
        }

    assert len(many(temperature=0)) == 1
    assert len(many(temperature=1.5, top_k=0, top_p=1)) > 2
    assert len(many(temperature=1.5, top_k=1)) == 1


def test_stop_and_max_tokens_end_an_answer(npc: sotto.Engine) -> None:
    whole = npc.chat(chat(ASKED[0])["messages"], model="npc", temperature=0, max_tokens=TOKENS).text
    word = whole.split()[1]
    cut = npc.chat(chat(ASKED[0])["messages"], model="npc", temperature=0, max_tokens=TOKENS, stop=[word])
    assert word not in cut.text and whole.startswith(cut.text)
    event = next(
        iter(ends(npc, [npc.submit("chat", chat(ASKED[0], max_tokens=3, ignore_eos=True))]).values())
    )
    assert event.tokens == 3 and json.loads(event.json)["choices"][0]["finish_reason"] == "length"


def test_completions_continue_a_prompt(npc: sotto.Engine) -> None:
    assert npc.complete("The innkeeper said that", model="npc", max_tokens=8, temperature=0).text
    for prompt in ([1, 2, 3], ""):
        event = ends(npc, [npc.submit("completion", {"model": "npc", "prompt": prompt, "max_tokens": 4})])
        assert "prompt" in next(iter(event.values())).error


def test_a_long_talk_loses_its_oldest_turns(engine: sotto.Engine, house: Path) -> None:
    load(engine, house, context=256)
    turns = [
        {"role": role, "content": f"{at} barrels of ale"}
        for at in range(40)
        for role in ("user", "assistant")
    ]
    messages = [{"role": "system", "content": SHEET}, *turns, {"role": "user", "content": ASKED[0]}]
    request = engine.submit("chat", {"model": "npc", "messages": messages, "max_tokens": 16})
    event = ends(engine, [request])[request]
    assert text_of(event) and 60 < json.loads(event.json)["usage"]["prompt_tokens"] < 256
    assert 40 < json.loads(event.json)["timings"]["dropped_messages"] < 80
    with pytest.raises(sotto.SottoError, match="expected fewer than 256"):
        engine.chat(messages, model="npc", max_tokens=16, context_overflow="error")
    with pytest.raises(sotto.SottoError, match="expected fewer than 256"):
        engine.chat("ale " * 2000, model="npc", max_tokens=16)


@pytest.mark.parametrize(("ahead", "waiting"), [(False, 0), (True, 2)])
def test_the_library_computes_ahead_only_where_it_may(house: Path, ahead: bool, waiting: int) -> None:
    stock = ctranslate2.Generator(str(house), intra_threads=1)
    request = Request("completion", "{}")
    request._ahead = ahead
    batch = Batch(stock, [["<s>"]], {"max_length": 24, "min_length": 24})
    tokens = batch.tokens(0, request)
    first = [next(tokens), next(tokens)]
    if ahead:
        wait_until(lambda: len(batch._tokens[0]) == waiting)
    time.sleep(0.1)  # many times what a token takes
    assert len(batch._tokens[0]) == waiting
    assert len(first + list(tokens)) == 24 and batch.done
    stock.unload_model()


def test_cancelled_answers_end_soon_and_leave_nothing(npc: sotto.Engine, kept: list[Batch]) -> None:
    dice, longest, process = random.Random(7), 0.0, psutil.Process()
    ends(npc, [npc.submit("chat", chat(line)) for line in ASKED])  # all threads are there
    threads, rounds = process.num_threads(), len(kept)
    for _ in range(60):
        requests = [
            npc.submit("chat", chat(line, max_tokens=200, ignore_eos=True)) for line in dice.sample(ASKED, 3)
        ]
        time.sleep(dice.random() * 0.1)
        began = time.perf_counter()
        for request in requests:
            npc.cancel(request)
        ends(npc, requests)
        longest = max(longest, time.perf_counter() - began)
    print(f"\nspeech: a cancelled chat ends within {1000 * longest:.0f} ms")
    assert longest < 0.1
    assert npc.stats().live == 0 and process.num_threads() <= threads
    wait_until(lambda: all(batch.done for batch in kept))
    assert len(kept) > rounds
    assert npc.chat(chat(ASKED[0])["messages"], model="npc", max_tokens=8, temperature=0).text


def test_a_budget_that_fits_int8_takes_int8(engine: sotto.Engine, house: Path) -> None:
    options = {"streams": 1, "context": 64, "prefix_cache_tokens": 0}
    engine.set_vram_budget_mb(120)
    load(engine, house, compute_type="int8", **options)
    engine.unload_model("npc")
    with pytest.raises(sotto.ModelLoadError, match="budget"):
        load(engine, house, compute_type="float32", **options)


def test_the_memory_of_a_decoder_is_told_and_freed(engine: sotto.Engine, house: Path) -> None:
    size = (house / "model.bin").stat().st_size
    load(engine, house, streams=1, context=256, prefix_cache_tokens=0)
    used = engine.memory()["used"]
    print(f"\nspeech: a decoder is told to take {used / 2**20:.0f} MB, its file {size / 2**20:.0f} MB")
    assert size * 0.9 < used < size * 1.5
    engine.unload_model("npc")
    assert engine.memory()["used"] == 0


def test_what_the_threads_of_the_library_take_is_told_at_the_load(engine: sotto.Engine, house: Path) -> None:
    npc = load(engine, house, streams=8, context=64, prefix_cache_tokens=0)
    process = psutil.Process()
    before = process.memory_info().rss
    for _ in range(16):  # each on another of the library's threads
        npc.complete("The key", model="npc", max_tokens=2)
    assert process.memory_info().rss - before < 32 << 20


def test_the_decoder_passes_the_suite(house: Path) -> None:
    cases = list(CASES) if os.environ.get("SOTTO_FULL") == "1" else list(CASES)[::4]  # all of them take 90 s
    target = Target("sotto.backends.ctranslate2:CTranslate2", str(house), None, {"streams": 8})
    assert {name: check.outcome(target, name, 90) for name in cases} == dict.fromkeys(cases, "")
