"""What the engine computed is told slice by slice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

import sotto

CHAT = json.dumps({"model": "npc", "messages": [{"role": "user", "content": "one two three"}]})


def test_an_answer_is_told_in_slices_once_on_the_clock_of_python(
    open_engine: Callable[..., sotto.Engine],
) -> None:
    began = time.monotonic_ns()
    engine = open_engine(trace_capacity=1000)
    engine.load_model("npc", path="x", backend="scripted", options={"tokens": ["a", "b", "c"] * 200})
    engine.llm_chat_completion(CHAT)
    slices = engine.trace()
    assert [one.kind for one in slices[:3]] == ["open", "prompt", "decode"]
    assert sum(one.generated_tokens for one in slices) == 600
    assert sum(one.prompt_tokens for one in slices) == 3
    assert all(one.begin_ns <= one.end_ns for one in slices)
    assert began <= slices[0].begin_ns and slices[-1].end_ns <= time.monotonic_ns()
    assert {(one.streams, one.mode, one.lost) for one in slices} == {(1, "prioritize_compute", 0)}
    assert all(one.frame_phase < 0 for one in slices)  # there was no frame
    assert any(one.predicted_ms > 0 for one in slices)  # 600 steps teach what one takes
    assert all(0 <= one.share <= 1 and one.limit_ms >= 0 for one in slices)
    assert engine.trace() == []


def test_frames_are_told_among_the_slices(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine(trace_capacity=1000)
    engine.load_model("npc", path="x", backend="scripted", options={"tokens": ["a"] * 100, "token_ms": 2})
    request = engine.submit("chat", CHAT)
    for _ in range(10):
        engine.frame_begin(period=0.016)
        time.sleep(0.004)
        engine.frame_end()
        time.sleep(0.004)
    while not any(event.kind == "request_done" and event.request == request for event in engine.events()):
        assert engine.wait(10)
    slices = engine.trace()
    frames = [one for one in slices if one.kind == "frame"]
    assert len(frames) == 10 and all(one.end_ns - one.begin_ns >= 4_000_000 for one in frames)
    assert all(one.end_ns <= then.begin_ns for one, then in pairwise(frames))
    steps = [one for one in slices if one.kind == "decode"]
    assert any(0 <= one.frame_phase <= 1 for one in steps) and all(one.frame_phase <= 1 for one in steps)


def test_what_finds_no_room_is_counted(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine(trace_capacity=2)
    engine.load_model("npc", path="x", backend="scripted", options={"tokens": ["a"] * 10})
    engine.llm_chat_completion(CHAT)
    assert len(engine.trace()) == 2
    engine.llm_chat_completion(CHAT)
    assert engine.trace()[0].lost == 10  # an opening, ten tokens and the end make 12


def test_no_trace_is_kept_unasked(open_engine: Callable[..., sotto.Engine]) -> None:
    with pytest.raises(sotto.SottoError, match="keeps no trace"):
        open_engine().trace()
    with pytest.raises(
        sotto.ArgumentError, match="invalid trace_capacity '4294967295': expected at most 1048576"
    ):
        open_engine(trace_capacity=(1 << 32) - 1)
