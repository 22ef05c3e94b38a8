"""On what terms an answer is asked for: its pace, its priority, its deadline; and how many may be asked."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

import pytest

import sotto
import sotto.aio
from conftest import SCRIPTED
from talk import chat, content, figures, load_endless, prompt, spoken

Submits = Callable[[sotto.Engine, Any], Any]

ASKS: dict[str, Submits] = {  # every call that asks for an answer
    "submit": lambda engine, terms: engine.submit("chat", chat(), **terms),
    "llm_chat_completion": lambda engine, terms: engine.llm_chat_completion(chat(), **terms),
    "llm_chat_completion_stream": lambda engine, terms: engine.llm_chat_completion_stream(chat(), **terms),
    "llm_text_completion": lambda engine, terms: engine.llm_text_completion(prompt(), **terms),
    "llm_text_completion_stream": lambda engine, terms: engine.llm_text_completion_stream(prompt(), **terms),
    "llm_infill": lambda engine, terms: engine.llm_infill(prompt(), **terms),
    "save_state": lambda engine, terms: engine.save_state(prompt(path="never"), **terms),
}
BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"priority": "high"},
        ValueError,
        'invalid priority \'high\': expected one of "foreground", "normal", "background"',
    ),
    ({"priority": ""}, ValueError, "invalid priority '': expected one of"),
    ({"priority": 1}, TypeError, "invalid priority '1': expected one of"),
    ({"priority": None}, TypeError, "invalid priority 'None': expected one of"),
    ({"deadline": math.nan}, ValueError, "invalid deadline 'nan': expected 0 or a positive number"),
    ({"deadline": math.inf}, ValueError, "invalid deadline 'inf': expected 0 or a positive number"),
    ({"deadline": -0.5}, ValueError, "invalid deadline '-0.5': expected 0 or a positive number"),
    ({"deadline": "soon"}, TypeError, "invalid deadline 'soon': expected a number"),
    ({"deadline": None}, TypeError, "invalid deadline 'None': expected a number"),
    ({"target_tps": math.nan}, ValueError, "invalid target_tps 'nan': expected 0 or a positive number"),
    ({"target_tps": -1}, ValueError, "invalid target_tps '-1': expected 0 or a positive number"),
    ({"speed": 1}, TypeError, "invalid argument 'speed': expected target_tps, priority, deadline"),
]


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize(("terms", "error", "said"), BAD, ids=[said for _, _, said in BAD])
def test_bad_terms_are_refused_before_anything_is_asked(
    npc: sotto.Engine, ask: Submits, terms: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as caught:
        ask(npc, terms)
    assert str(caught.value).startswith(said)
    figures(npc, lambda now: now.live == 0)


def order(engine: sotto.Engine, *all_terms: dict[str, Any]) -> list[int]:
    """In what order requests end that wait for one stream's room: their numbers, as submitted."""
    load_endless(engine)
    first = engine.submit("chat", chat(model="endless"), user=99, priority="foreground")  # has the stream
    while not any(event.kind == "text" for event in engine.events()):
        assert engine.wait(10)
    for number, terms in enumerate(all_terms):
        engine.submit("chat", chat(model="endless", max_tokens=4), user=number, **terms)
    accepted = 0
    while accepted < len(all_terms):
        assert engine.wait(10)
        accepted += sum(event.kind == "accepted" for event in engine.events())
    engine.cancel(first)
    ended: list[int] = []
    while len(ended) < 1 + len(all_terms):
        assert engine.wait(10)
        ended += [event.user for event in engine.events() if event.kind == "request_done"]
    assert ended[0] == 99
    return ended[1:]


def test_who_matters_more_is_served_first(engine: sotto.Engine) -> None:
    asked = ({"priority": "background"}, {}, {"priority": "foreground"}, {"priority": "normal"})
    assert order(engine, *asked) == [2, 1, 3, 0]


def test_of_two_that_matter_as_much_the_earlier_deadline_is_first(engine: sotto.Engine) -> None:
    now = time.monotonic()
    asked = ({"deadline": now + 60}, {"deadline": now + 30}, {"deadline": now + 45, "priority": "background"})
    assert order(engine, *asked) == [1, 0, 2]


def test_a_deadline_that_has_passed_harms_nothing(npc: sotto.Engine) -> None:
    assert content(npc.llm_chat_completion(chat("late"), deadline=time.monotonic() - 5)) == "late"
    assert content(npc.llm_chat_completion(chat("far"), deadline=1e30)) == "far"


def test_a_foreground_request_takes_the_place_of_another(engine: sotto.Engine) -> None:
    load_endless(engine, token_ms=2, parkable=True)
    gossip = engine.submit("chat", chat(model="endless", max_tokens=1000), priority="background")
    while not any(event.kind == "text" for event in engine.events()):
        assert engine.wait(10)
    answer = engine.llm_chat_completion(chat(model="endless", max_tokens=3), priority="foreground")
    assert content(answer) == " on" * 3
    heard = list(engine.events())
    assert not any(event.kind == "request_done" for event in heard)
    while not any(event.kind == "request_done" for event in heard):  # it goes on where it was
        assert engine.wait(10)
        heard += engine.events()
    assert {event.request for event in heard} == {gossip}
    assert (heard[-1].status, heard[-1].tokens) == (0, 1000)


@pytest.mark.parametrize("name", ["llm_chat_completion", "llm_text_completion"])
def test_a_blocking_answer_has_a_pace_of_its_own(engine: sotto.Engine, name: str) -> None:
    engine.load_model("npc", options={"tokens": ["a"] * 11})
    ask = {"llm_chat_completion": chat, "llm_text_completion": prompt}[name]()
    began = time.monotonic()
    getattr(engine, name)(ask, target_tps=20)
    assert 0.45 <= time.monotonic() - began < 3


def test_a_pace_changes_under_way(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["a"] * 40})
    request = engine.submit("chat", chat(), target_tps=4)
    while not any(event.kind == "text" for event in engine.events()):
        assert engine.wait(10)
    began = time.monotonic()
    assert engine.set_request_tps(request, 400) is True
    while not any(event.kind == "request_done" for event in engine.events()):
        assert engine.wait(10)
    assert time.monotonic() - began < 3  # at 4 a second it would be 9
    assert engine.set_request_tps(request, 4) is False and engine.set_request_tps(12345, 4) is False


def test_a_streams_pace_changes_under_way(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["a"] * 40})
    stream = engine.llm_chat_completion_stream(chat(), target_tps=4)
    said = [next(stream)]
    began = time.monotonic()
    assert stream.set_target_tps(0) is True
    said += stream
    assert spoken(said) == "a" * 40 and time.monotonic() - began < 3
    assert stream.set_target_tps(4) is False
    with pytest.raises(ValueError, match="invalid tps 'nan': expected 0 or a positive number"):
        stream.set_target_tps(math.nan)


@pytest.mark.parametrize(("request_", "tps"), [(-1, 0), (1, -1), (1, math.inf), (None, 0), (1, "fast")])
def test_a_bad_pace_is_refused(npc: sotto.Engine, request_: Any, tps: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"invalid (request|tps) "):
        npc.set_request_tps(request_, tps)


def test_awaited_answers_have_terms_too() -> None:
    async def test() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute", gates=True) as engine:
            await engine.load_model("npc", options={"tokens": ["a"] * 30})
            stream = engine.llm_chat_completion_stream(chat(), target_tps=4, priority="foreground")
            said = [await anext(stream)]
            assert stream.set_target_tps(0) is True
            said += [chunk async for chunk in stream]
            assert spoken(said) == "a" * 30
            late = await engine.llm_chat_completion(chat(), deadline=1.0, priority="background")
            assert content(late) == "a" * 30
            with pytest.raises(ValueError, match="invalid priority 'high'"):
                await engine.llm_text_completion(prompt(), priority="high")
            assert engine.stats().finished >= 2

    asyncio.run(asyncio.wait_for(test(), 60))


def test_no_more_are_taken_than_may_be_live(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine(max_requests=3)
    load_endless(engine)
    figures(engine, lambda now: now.live == 0)
    for _ in range(3):
        engine.submit("chat", chat(model="endless"))
    with pytest.raises(sotto.SottoError) as caught:
        engine.submit("chat", chat(model="endless"))
    assert caught.value.status == -11 and "3" in str(caught.value)
    with pytest.raises(sotto.InferenceError) as caught:
        engine.llm_chat_completion(chat(model="endless"))
    assert caught.value.status == -11


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("gates", [False, True])
def test_engines_work_in_every_way(
    open_engine: Callable[..., sotto.Engine], deterministic: bool, gates: bool
) -> None:
    engine = open_engine(deterministic=deterministic, gates=gates)
    engine.load_model("npc", options={})
    assert content(engine.llm_chat_completion(chat("the same"))) == "the same"
