"""`engine.stats()`: the figures say what was done."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import sotto
from talk import chat, figures, load_endless


def drain(engine: sotto.Engine, requests: int) -> None:
    """Takes events until so many requests are done."""
    done = 0
    while done < requests:
        assert engine.wait(10)
        done += sum(event.kind == "request_done" for event in engine.events())


def test_a_new_engine_has_done_nothing(open_engine: Callable[..., sotto.Engine]) -> None:
    found = open_engine(mode="prioritize_graphics").stats()
    assert isinstance(found, sotto.Stats) and found.mode == "prioritize_graphics"
    nothing = (
        "live",
        "waiting",
        "decoding",
        "parked",
        "frames",
        "finished",
        "completion_tokens",
        "slices",
        "busy",
    )
    assert {name: getattr(found, name) for name in nothing} == dict.fromkeys(nothing, 0)
    assert "mode='prioritize_graphics'" in repr(found)


def test_the_figures_cannot_be_written(npc: sotto.Engine) -> None:
    with pytest.raises(AttributeError):
        npc.stats().live = 3  # type: ignore[misc]


def test_what_was_done_is_counted(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["a", "b", "c"], "weights": 5 << 20})
    load_endless(engine)
    for _ in range(4):
        engine.submit("chat", chat("one two three four five"))
    engine.submit("chat", chat(model="ghost"))
    drain(engine, 5)
    cancelled = engine.submit("chat", chat(model="endless"))
    while not any(event.kind == "text" for event in engine.events()):
        assert engine.wait(10)
    engine.cancel(cancelled)
    drain(engine, 1)
    found = figures(engine, lambda now: now.cancelled == 1 and now.live == 0)
    assert (found.failed, found.cancelled, found.decoding, found.waiting) == (1, 1, 0, 0)
    assert (
        found.finished >= 4
        and found.completion_tokens >= 13
        and found.prompt_tokens + found.cached_prompt_tokens >= 20
    )
    assert found.slice_streams >= found.slices and found.draft_tokens == 0
    assert found.slices > 0 and found.slice_ns > 0 and found.step_p99_ms > 0 and found.ttft_mean_ms > 0
    assert found.bytes_in_use >= 5 << 20 and found.threads >= 1 and 0 <= found.share <= 1


def test_who_speaks_and_who_waits_is_told(engine: sotto.Engine) -> None:
    load_endless(engine)
    for _ in range(3):
        engine.submit("chat", chat(model="endless"))
    found = figures(engine, lambda now: (now.decoding, now.waiting) == (1, 2) and now.queue_wait_max_ms > 150)
    assert found.live == 3
    found = figures(engine, lambda now: now.tokens_per_s > 20)
    assert 0 < found.busy <= 1 and found.tokens_per_s <= 220  # a token takes 5 ms


def test_the_games_frames_are_told(engine: sotto.Engine) -> None:
    for number in range(40):
        engine.frame_begin(period=0.7)  # far from what a busy machine makes of the time between them
        engine.frame_end(busy=0.9 if number < 4 else 0.004)
    found = figures(engine, lambda now: now.frames == 40)
    assert found.frames_missed == 4
    assert found.frame_p50_ms == pytest.approx(4, abs=0.1)
    assert found.frame_p99_ms == pytest.approx(900, abs=1)


def test_the_mode_is_the_one_that_is_set(npc: sotto.Engine) -> None:
    npc.set_scheduling_mode("balance")
    assert figures(npc, lambda now: now.mode == "balance").mode == "balance"


def test_asking_never_waits(engine: sotto.Engine) -> None:
    load_endless(engine, token_ms=10_000)
    engine.submit("chat", chat(model="endless"))
    figures(engine, lambda now: now.live == 1)
    began = time.perf_counter()
    for _ in range(1000):
        engine.stats()
    assert time.perf_counter() - began < 1
