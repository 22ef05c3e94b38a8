"""`engine`: the calls a game makes each frame."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import sotto
from sotto import Event
from talk import Ticks, chat, load_endless, prompt


def drain(engine: sotto.Engine, requests: int = 1, seconds: float = 20) -> list[Event]:
    """Every event until so many requests are done."""
    heard: list[Event] = []
    end = time.monotonic() + seconds
    while sum(event.kind == "request_done" for event in heard) < requests:
        assert engine.wait(max(0.0, end - time.monotonic())), heard[-5:]
        heard += engine.events()
    return heard


def test_events_tell_the_whole_story(npc: sotto.Engine) -> None:
    request = npc.submit("chat", chat("a b"), user=7)
    assert isinstance(request, int) and request > 0
    heard = drain(npc)
    assert [event.kind for event in heard] == ["accepted", "text", "text", "choice_done", "request_done"]
    assert {(event.request, event.user) for event in heard} == {(request, 7)}
    assert [event.text for event in heard] == ["", "a", " b", "", ""]
    assert [event.finish for event in heard] == ["", "", "", "stop", ""]
    assert [event.tokens for event in heard] == [0, 1, 2, 2, 2]
    assert json.loads(heard[-1].json)["choices"][0]["message"]["content"] == "a b"
    assert list(npc.events()) == []


def test_chunks_where_asked_for(npc: sotto.Engine) -> None:
    npc.submit(
        "completion", {"model": "npc", "prompt": "a", "stream_options": {"include_usage": True}}, chunks=True
    )
    heard = drain(npc)
    assert [event.kind for event in heard] == ["accepted", "text", "choice_done", "usage", "request_done"]
    assert [bool(event.json) for event in heard] == [False, True, True, True, False]


def test_a_failure_is_an_event(npc: sotto.Engine) -> None:
    npc.submit("chat", chat(model="ghost"))
    (event,) = drain(npc)
    assert (event.kind, event.status, event.error[:13]) == ("request_done", -7, "model 'ghost'")


def test_events_is_an_iterator_that_never_waits(npc: sotto.Engine) -> None:
    load_endless(npc, token_ms=60_000)
    npc.submit("chat", chat(model="endless"))
    began = time.perf_counter()
    for _ in range(100):
        events = npc.events()
        assert iter(events) is events
        list(events)
    assert time.perf_counter() - began < 1


def test_blocking_calls_leave_the_queue_alone(npc: sotto.Engine) -> None:
    request = npc.submit("chat", chat("a"))
    npc.llm_chat_completion(chat("b"))
    list(npc.llm_chat_completion_stream(chat("c")))
    assert {event.request for event in drain(npc)} == {request}


def test_wait(npc: sotto.Engine) -> None:
    began = time.monotonic()
    assert npc.wait(0) is False and npc.wait(0.25) is False
    assert 0.25 <= time.monotonic() - began < 2
    npc.submit("chat", chat())
    assert npc.wait() is True and npc.wait(0) is True


def test_waiting_lets_others_run(engine: sotto.Engine) -> None:
    with Ticks() as ticks:
        engine.wait(0.3)
    assert ticks.count > 50


def test_cancel(npc: sotto.Engine) -> None:
    load_endless(npc)
    request = npc.submit("chat", chat(model="endless"))
    assert npc.wait(5) and npc.cancel(request) is True
    last = drain(npc)[-1]
    assert (last.kind, last.status) == ("request_done", -10)
    end = time.monotonic() + 5
    while npc.cancel(request) and time.monotonic() < end:
        time.sleep(0.001)  # its last event is told a moment before it is forgotten
    assert npc.cancel(request) is False and npc.cancel(12345) is False


def test_a_thousand_requests_wait_their_turn(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["a", "b"], "streams": 4})
    requests = {engine.submit("chat", chat(), user=user) for user in range(1000)}
    assert len(requests) == 1000
    done = [event for event in drain(engine, 1000, 60) if event.kind == "request_done"]
    assert {event.user for event in done} == set(range(1000)) and {event.status for event in done} == {0}


def test_a_thousand_cancelled_requests_all_end(engine: sotto.Engine) -> None:
    load_endless(engine)
    requests = [engine.submit("chat", chat(model="endless")) for _ in range(1000)]
    for request in requests:
        engine.cancel(request)
    done = [event for event in drain(engine, 1000, 60) if event.kind == "request_done"]
    assert {event.status for event in done} == {-10}


def test_two_threads_may_drain(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["abc"] * 50})
    heard: list[Event] = []
    going = True

    def read() -> None:
        while going or engine.wait(0):
            heard.extend(engine.events())

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for user in range(40):
        engine.submit("chat", chat(), user=user)
    end = time.monotonic() + 30
    while sum(event.kind == "request_done" for event in heard) < 40 and time.monotonic() < end:
        time.sleep(0.01)
    going = False
    for thread in threads:
        thread.join()
    assert sorted(event.user for event in heard if event.kind == "request_done") == list(range(40))
    assert {event.text for event in heard if event.kind == "text"} == {"abc"}
    assert sum(event.kind == "text" for event in heard) == 2000


def test_a_request_has_a_pace_of_its_own(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["a"] * 11})
    began = time.monotonic()
    engine.submit("completion", prompt(), target_tps=20)
    drain(engine)
    assert 0.45 <= time.monotonic() - began < 2


def test_frames_are_reported(engine: sotto.Engine) -> None:
    engine.frame_begin()
    engine.frame_end()
    for _ in range(3):
        engine.frame_begin(busy_cores=1, period=1 / 60)
        engine.frame_end(busy=0.004, gpu=0.002)
    frames = engine.describe()["frames"]
    assert frames["begun"] == frames["ended"] == 4
    assert frames["period_ms"] == pytest.approx(1000 / 60, rel=1e-3)
    assert (frames["busy_ms"], frames["gpu_ms"]) == (pytest.approx(4), pytest.approx(2))


def test_an_event_owns_its_text(npc: sotto.Engine) -> None:
    npc.submit("chat", chat("one"))
    npc.submit("chat", chat("two"))
    heard = drain(npc, 2)
    assert [event.text for event in heard if event.kind == "text"] == ["one", "two"]
    assert Event._fields[0] == "kind" and "kind='request_done'" in repr(heard[-1])


BAD: list[tuple[Callable[[sotto.Engine], Any], type[Exception], str]] = [
    (
        lambda e: e.submit("sing", chat()),
        ValueError,
        'invalid op \'sing\': expected one of "chat", "completion"',
    ),
    (lambda e: e.submit(1, chat()), TypeError, "invalid op '1'"),
    (
        lambda e: e.submit("chat", chat(), user=-1),
        ValueError,
        "invalid user '-1': expected an integer from 0",
    ),
    (lambda e: e.submit("chat", chat(), user=1 << 64), ValueError, "invalid user '1844"),
    (lambda e: e.submit("chat", chat(), user="me"), TypeError, "invalid user 'me': expected an integer"),
    (lambda e: e.submit("chat", chat(), target_tps=-1), ValueError, "invalid target_tps '-1'"),
    (lambda e: e.wait(-1), ValueError, "invalid timeout '-1': expected 0 or a positive number"),
    (lambda e: e.wait("soon"), TypeError, "invalid timeout 'soon': expected a number"),
    (lambda e: e.cancel(-1), ValueError, "invalid request '-1'"),
    (lambda e: e.cancel(None), TypeError, "invalid request 'None'"),
    (lambda e: e.frame_begin(busy_cores=-1), ValueError, "invalid busy_cores '-1'"),
    (lambda e: e.frame_begin(period=float("nan")), ValueError, "invalid period 'nan'"),
    (lambda e: e.frame_end(busy=-0.1), ValueError, "invalid busy '-0.1'"),
    (lambda e: e.frame_end(gpu="fast"), TypeError, "invalid gpu 'fast'"),
]


@pytest.mark.parametrize(("call", "error", "said"), BAD, ids=[said for _, _, said in BAD])
def test_bad_arguments(
    engine: sotto.Engine, call: Callable[[sotto.Engine], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as caught:
        call(engine)
    assert str(caught.value).startswith(said)
