"""`write_trace()`: a trace as a file that Perfetto opens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sotto
from sotto.perfetto import TRACKS, trace_events
from talk import chat

KINDS = st.sampled_from([*TRACKS, "kind 9"])
SLICES = st.lists(
    st.builds(
        lambda kind, begin, took, lost, phase: sotto.Slice(
            kind, begin, begin + took, 2, 1, 1, 2, "balance", lost, 1.5, 4.0, 0.5, phase
        ),
        KINDS, st.integers(0, 10**6), st.integers(0, 10**5), st.integers(0, 2), st.floats(-1, 1),
    ),
    max_size=60,
)  # fmt: skip


def slices_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events that last."""
    return [event for event in events if event["ph"] == "X"]


@given(SLICES)
def test_events_are_in_order_and_none_lies_in_another(slices: list[sotto.Slice]) -> None:
    events = list(trace_events(slices))
    json.loads(json.dumps(events, allow_nan=False))
    timed = [event["ts"] for event in events if event["ph"] != "M"]
    assert timed == sorted(timed)
    lasting = slices_of(events)
    assert len(lasting) == len(slices)
    ends: dict[int, float] = {}
    for event in lasting:
        assert event["dur"] >= 0 and event["ts"] >= ends.get(event["tid"], 0.0) - 1e-6
        ends[event["tid"]] = event["ts"] + event["dur"]
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    assert named == {event["tid"] for event in lasting}


@given(SLICES)
def test_every_kind_has_tracks_of_its_own(slices: list[sotto.Slice]) -> None:
    kinds: dict[int, str] = {}
    for event in slices_of(list(trace_events(slices))):
        assert kinds.setdefault(event["tid"], event["name"]) == event["name"]


def test_a_slice_shows_what_is_known_of_it() -> None:
    step = sotto.Slice(
        "decode", 2_000, 5_500, 8, 3, 8, 2, "balance", 0, 3.25, 4.0, 0.75, 0.5, decoded_tokens=24
    )
    events = list(trace_events([step]))
    (shown,) = slices_of(events)
    assert (shown["name"], shown["ts"], shown["dur"]) == ("decode", 2.0, 3.5)
    assert shown["args"] == {
        "streams": 8, "prompt_tokens": 3, "generated_tokens": 8, "decoded_tokens": 24, "threads": 2,
        "share": 0.75, "mode": "balance", "predicted_ms": 3.25, "limit_ms": 4.0, "frame_phase": 0.5,
    }  # fmt: skip
    counters = {event["name"]: event["args"] for event in events if event["ph"] == "C"}
    assert counters == {"share": {"of the time": 0.75}, "tokens": {"read": 3, "written": 8}}
    names = [event["args"]["name"] for event in events if event["name"] in ("process_name", "thread_name")]
    assert names == ["sotto", TRACKS["decode"]]


def test_what_is_not_known_is_left_out() -> None:
    events = list(trace_events([sotto.Slice("frame", 0, 8_000_000, 0, 0, 0, 0, "balance")]))
    assert [event["args"] for event in slices_of(events)] == [{}]
    assert not [event for event in events if event["ph"] == "C"]
    (lost, *_) = (
        event for event in trace_events([sotto.Slice("open", 5, 6, 1, 0, 0, 1, "balance", 7)])
        if event["ph"] == "i"
    )  # fmt: skip
    assert "7 slices" in lost["name"]


def test_curves_tell_what_changed() -> None:
    steps = [
        sotto.Slice("decode", n * 10, n * 10 + 5, 1, 0, 1, 1, "balance", 0, 0, 0, (0.5, 0.5, 0.25)[n])
        for n in range(3)
    ]
    events = list(trace_events(reversed(steps)))
    shares = [event["args"]["of the time"] for event in events if event["name"] == "share"]
    assert shares == [0.5, 0.25]
    assert [event["args"]["written"] for event in events if event["name"] == "tokens"] == [1, 2, 3]


def test_an_engines_trace_is_a_file(open_engine: Callable[..., sotto.Engine], tmp_path: Path) -> None:
    engine = open_engine(trace_capacity=1000)
    engine.load_model("npc", options={"tokens": ["a", "b", "c"] * 20})
    engine.llm_chat_completion(chat("one two three"))
    slices = engine.trace()
    sotto.write_trace(slices, tmp_path / "trace.json")
    found = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    steps = slices_of(found["traceEvents"])
    assert sum(step["args"]["generated_tokens"] for step in steps) == 60
    assert [step["ts"] for step in steps] == [one.begin_ns / 1000 for one in slices]
    sotto.write_trace([], str(tmp_path / "empty.json"))
    assert slices_of(json.loads((tmp_path / "empty.json").read_text())["traceEvents"]) == []


def test_a_file_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sotto.write_trace([], tmp_path / "nowhere" / "trace.json")
