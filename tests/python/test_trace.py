"""What the engine computed is told slice by slice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

import sotto

CHAT = json.dumps({"model": "npc", "messages": [{"role": "user", "content": "one two three"}]})


def test_an_answer_is_told_in_slices_once_on_the_clock_of_python(
    open_engine: Callable[..., sotto.Engine],
) -> None:
    began = time.monotonic_ns()
    engine = open_engine(trace=1000)
    engine.load_model("npc", path="x", backend="scripted", options={"tokens": ["a", "b", "c"] * 200})
    engine.llm_chat_completion(CHAT)
    slices = engine.trace()
    assert [one.kind for one in slices[:3]] == ["open", "prompt", "decode"]
    assert sum(one.generated_tokens for one in slices) == 600
    assert sum(one.prompt_tokens for one in slices) == 3
    assert all(one.begin_ns <= one.end_ns for one in slices)
    assert began <= slices[0].begin_ns and slices[-1].end_ns <= time.monotonic_ns()
    assert {(one.streams, one.mode, one.lost) for one in slices} == {(1, "prioritize_compute", 0)}
    assert engine.trace() == []


def test_what_finds_no_room_is_counted(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine(trace=2)
    engine.load_model("npc", path="x", backend="scripted", options={"tokens": ["a"] * 10})
    engine.llm_chat_completion(CHAT)
    assert len(engine.trace()) == 2
    engine.llm_chat_completion(CHAT)
    assert engine.trace()[0].lost == 10  # an opening, ten tokens and the end make 12


def test_no_trace_is_kept_unasked(open_engine: Callable[..., sotto.Engine]) -> None:
    with pytest.raises(sotto.SottoError, match="keeps no trace"):
        open_engine().trace()
    with pytest.raises(sotto.ArgumentError, match="trace is 4294967295; it must be at most 1048576"):
        open_engine(trace=(1 << 32) - 1)
