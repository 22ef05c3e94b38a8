"""Sessions in a frame loop: submitted turns, changing system messages, fields spoken early."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sotto
from sotto._lib import lib


def played(engine: sotto.Engine, request: int) -> list[sotto.Event]:
    """The events of a request, taken in a frame loop."""
    heard: list[sotto.Event] = []
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with engine.frame(period=0.001):
            heard += [event for event in engine.events() if event.request == request]
        if heard and heard[-1].kind == "request_done":
            return heard
    raise AssertionError(heard)


def test_a_turn_is_submitted_and_remembered(npc: sotto.Engine) -> None:
    mara = npc.session("mara", "be kind", model="npc")
    request = mara.submit("one two", {"max_tokens": 1}, user=7, priority="foreground")
    heard = played(npc, request)
    assert [event.text for event in heard if event.kind == "text"] == ["one"]
    assert {event.user for event in heard} == {7}
    (ended,) = [event for event in heard if event.kind == "choice_done"]
    assert ended.finish == "length" and heard[-1].error == "" and heard[-1].status is sotto.Status.OK
    assert [one["content"] for one in mara.messages] == ["be kind", "one two", "one"]


def test_a_turn_streams_deltas(npc: sotto.Engine) -> None:
    with npc.session("mara", model="npc") as mara, mara.stream("one two") as answer:
        parts = list(answer)
    assert "".join(part.text for part in parts) == "one two"
    assert parts[-1].finish_reason == "stop"


def test_two_turns_at_once_are_one_too_many(npc: sotto.Engine) -> None:
    npc.load_model("slow", options=json.dumps({"tokens": ["a"] * 50, "token_ms": 10}))
    mara = npc.session("mara", model="slow")
    first, second = mara.submit("one"), mara.submit("two", chunks=True)
    (last,) = played(npc, second)
    assert last.status == sotto.Status.BUSY and str(first) in last.error
    npc.cancel(first)
    assert played(npc, first)[-1].status == sotto.Status.CANCELLED


def test_the_system_message_changes(npc: sotto.Engine) -> None:
    mara = npc.session("mara", "the gate is shut", model="npc")
    mara.say("hello")
    mara.set_system("the gate is open")
    assert [one["content"] for one in mara.messages] == ["the gate is open", "hello", "hello"]
    mara.set_system("")
    assert [one["role"] for one in mara.messages] == ["user", "assistant"]
    with pytest.raises(TypeError, match="invalid text '3': expected a str, not int"):
        mara.set_system(3)  # type: ignore[arg-type]
    mara.close()
    with pytest.raises(sotto.InferenceError, match="mara"):
        mara.set_system("it is gone")


def test_a_frame_ends_also_where_the_game_fails(npc: sotto.Engine) -> None:
    with pytest.raises(ZeroDivisionError), npc.frame(busy_cores=2, period=1 / 60) as frame:
        frame.busy = 0.005
        _ = 1 / 0
    with npc.frame():
        pass
    assert npc.stats().frames == 2
    with pytest.raises(sotto.ArgumentError, match="period"), npc.frame(period=-1):
        raise AssertionError("the frame began")


def test_statuses_have_the_names_of_the_header() -> None:
    names = {
        name.removeprefix("SOTTO_ERROR_"): getattr(lib, name) for name in dir(lib) if "SOTTO_ERROR_" in name
    }
    assert {one.name: one.value for one in sotto.Status if one < 0} == names
    assert (sotto.Status.OK, sotto.Status.EMPTY) == (lib.SOTTO_OK, lib.SOTTO_EMPTY)
    newer = sotto.SottoError("of a newer library", -99)
    assert newer.status == -99 and "-99" in repr(newer.status)


def test_a_field_is_spoken_while_the_decision_forms() -> None:
    said = ""
    whole = json.dumps({"say": 'Stay "awhile", é 🏰', "mood": "calm"})
    for cut in range(len(whole) + 1):
        text, complete = sotto.json_field(whole[:cut], "say")
        assert text.startswith(said)
        said = text
        assert not complete or text == 'Stay "awhile", é 🏰'
    assert complete
    assert sotto.json_field(whole, "mood") == sotto.JsonField("calm", True)
    assert sotto.json_field(whole, "nothing") == ("", False)


@given(
    st.dictionaries(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists), max_size=4),
    st.text(),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_any_field_of_any_object_only_grows(others: dict[str, object], value: str, ascii_only: bool) -> None:
    """Whatever stands around it, and wherever the object is cut."""
    others.pop("say", None)
    whole = json.dumps({**others, "say": value}, ensure_ascii=ascii_only)
    last = ""
    for cut in range(len(whole) + 1):
        text, _ = sotto.json_field(whole[:cut], "say")
        assert text.startswith(last) and value.startswith(text)
        last = text
    assert sotto.json_field(whole, "say") == (value, True)


def test_a_field_wants_text() -> None:
    with pytest.raises(TypeError, match=r"invalid json .*: expected a str, not bytes"):
        sotto.json_field(b"{}", "say")  # type: ignore[arg-type]
    with pytest.raises(sotto.ArgumentError, match="invalid name ''"):
        sotto.json_field("{}", "")
