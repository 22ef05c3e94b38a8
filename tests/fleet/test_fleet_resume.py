"""Answers that survive: a client takes up a lost answer at another replica, on a double of the data plane."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sotto.fleet as fleet
from client_mock import Reply, Request, delta, events, stream
from fleet_faces import LIVE, Face
from fleet_mock import CHAT, FakePlane
from sotto.fleet import _partial

USER = [{"role": "user", "content": "Hi"}]
BUSY = Reply({"error": "unavailable", "message": "gone"}, 503, headers={"Retry-After": "0"})


def lost(*chunks: Any) -> Reply:
    """Returns a stream whose connection breaks after its chunks."""

    def pieces() -> Iterator[bytes]:
        yield from (events(one, done=False) for one in chunks)
        raise OSError("killed")

    return Reply(pieces(), headers={"Content-Type": "text/event-stream"})


def chat(plane: FakePlane, *replies: Reply | Callable[[Request], Reply]) -> None:
    """Answers requests one after the other; the last reply repeats."""
    waiting = list(replies)

    def reply(request: Request) -> Reply:
        one = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return one if isinstance(one, Reply) else one(request)

    plane.reply_to = reply  # type: ignore[method-assign]


def endpoint(plane: FakePlane, face: Face, **more: Any) -> tuple[Any, list[float]]:
    """Returns an endpoint, and the list that receives the waits before requests that are sent again."""
    data = face.keep(face.data(base_url=plane.url, project="acme", api_key=LIVE, **more))
    return data.endpoint("smith"), face.sleeps(data)


def chunk(text: str, reason: str | None = None, id: str = "one", **more: Any) -> dict[str, Any]:
    """Returns a chunk with a head."""
    return {"id": id, "created": 1, "model": "house", **delta(text, reason), **more}


@pytest.mark.parametrize("end", ["lost", "end", "error"])
def test_a_stream_goes_on_at_another_replica(plane: FakePlane, face: Face, end: str) -> None:
    said = [chunk("To the "), chunk("mi")]
    gone = {"error": {"code": 502, "message": "the workload closed the connection"}}
    first = {
        "lost": lost(*said),
        "end": stream(events(*said, done=False)),
        "error": stream(events(*said, gone, done=False)),
    }[end]
    role = {"id": "two", "choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]}
    last = chunk("", "stop", "two", timings={"cache_n": 3, "prompt_n": 9, "predicted_n": 2})
    usage = {"id": "two", "choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 2}}
    chat(plane, first, BUSY, stream(events(role, chunk("ll", id="two"), last, usage)))
    smith, waits = endpoint(plane, face)
    chunks = list(smith.generate_text_stream(messages=USER, temperature=0, max_tokens=9))
    assert [one.text for one in chunks] == ["To the ", "mi", "ll", "", ""]
    assert [one.raw.get("resumed") for one in chunks] == [None, None, True, True, True]
    assert {one.raw["id"] for one in chunks} == {"one"} and len(waits) == 2
    assert chunks[3].raw["timings"] == {"cache_n": 3, "prompt_n": 7, "predicted_n": 4}
    assert chunks[4].raw["usage"] == {"prompt_tokens": 10, "completion_tokens": 4}
    assert plane.last.body == {
        "model": "smith",
        "messages": [*USER, {"role": "assistant", "content": "To the mi"}],
        "stream": True,
        "temperature": 0,
        "max_tokens": 7,
        "continue_final_message": True,
        "add_generation_prompt": False,
    }


def test_an_answer_is_resumed_once(plane: FakePlane, face: Face) -> None:
    chat(plane, lost(chunk("a")), lost(chunk("b")), stream(events(chunk("c", "stop"))))
    smith, _ = endpoint(plane, face)
    answer, said = smith.generate_text_stream(prompt="Hi"), []
    with pytest.raises(fleet.ApiError):
        said.extend(one.text for one in answer)
    assert len(plane.requests) == 2 and list(answer) == []


def test_a_stream_that_was_lost_before_its_first_chunk_is_sent_again(plane: FakePlane, face: Face) -> None:
    chat(plane, lost(), stream(events(chunk("Hi", "stop"))))
    smith, _ = endpoint(plane, face)
    (one,) = smith.generate_text_stream(prompt="Hi")
    assert one.raw["resumed"] is True
    assert plane.requests[0].body == plane.requests[1].body


def test_a_whole_answer_that_was_lost_is_sent_again(plane: FakePlane, face: Face) -> None:
    def killed(request: Request) -> Reply:
        raise ConnectionError("killed")

    chat(plane, killed, BUSY, Reply(CHAT))
    smith, waits = endpoint(plane, face)
    result = smith.generate_text(prompt="Hi")
    assert result.text == "Hi" and result.raw == {**CHAT, "resumed": True} and len(waits) == 2
    chat(plane, killed, killed, Reply(CHAT))
    with pytest.raises(fleet.ApiError):
        smith.generate_text(prompt="Hi")
    chat(plane, killed, Reply({"model": "m", "data": [{"index": 0, "embedding": [1.0]}]}))
    assert smith.embed(input="a").embeddings == [[1.0]]


def test_a_workload_without_a_replica_is_waited_for(plane: FakePlane, face: Face) -> None:
    later = Reply({"error": "unavailable"}, 503, headers={"Retry-After": "2"})
    chat(plane, *[later] * 5, Reply(CHAT))
    smith, waits = endpoint(plane, face)
    assert smith.generate_text(prompt="Hi").raw == CHAT and waits == [2.0] * 5
    chat(plane, *[later] * 2, stream(events(chunk("Hi", "stop"))))
    (one,) = smith.generate_text_stream(prompt="Hi")
    assert "resumed" not in one.raw


@pytest.mark.parametrize(
    "headers, requests", [({}, 2), ({"Retry-After": "soon"}, 2), ({"Retry-After": "61"}, 1)]
)
@pytest.mark.parametrize("never", [False, True])
def test_a_server_that_does_not_ask_for_patience(
    plane: FakePlane, face: Face, headers: dict[str, str], requests: int, never: bool
) -> None:
    more = {"x-should-retry": "false"} if never else {}
    chat(plane, Reply({"error": "m"}, 503, headers={**headers, **more}))
    smith, _ = endpoint(plane, face)
    for method in (smith.generate_text, smith.generate_text_stream):
        plane.requests.clear()
        with pytest.raises(fleet.ApiError, match="503"):
            method(prompt="Hi")
        assert len(plane.requests) == (1 if never else requests)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 422, 429, 500, 504])
def test_other_statuses_are_final(plane: FakePlane, face: Face, status: int) -> None:
    chat(plane, lost(chunk("a")), Reply({"error": "m"}, status, headers={"Retry-After": "1"}))
    smith, _ = endpoint(plane, face)
    with pytest.raises(fleet.InferenceKeyError) as failed:
        list(smith.generate_text_stream(prompt="Hi"))
    assert failed.value.status == status and len(plane.requests) == 2
    with pytest.raises(fleet.InferenceKeyError):
        smith.generate_text(prompt="Hi")
    assert len(plane.requests) == 3


@pytest.mark.parametrize(
    "said",
    [
        [chunk("a", "stop"), {"error": {"code": 500, "message": "m"}}],
        [{"choices": [{"delta": {"tool_calls": [{"index": 0}]}, "finish_reason": None}]}],
        [chunk("a"), {"error": {"code": 500, "message": "m"}}],
        [chunk("a"), {"error": {"code": 400, "message": "m"}}],
    ],
)
def test_answers_that_are_not_resumed(plane: FakePlane, face: Face, said: Any) -> None:
    chat(plane, lost(*said))
    smith, _ = endpoint(plane, face)
    with pytest.raises(fleet.InferenceKeyError):
        list(smith.generate_text_stream(prompt="Hi"))
    assert len(plane.requests) == 1


def test_only_the_end_of_the_stream_was_lost(plane: FakePlane, face: Face) -> None:
    chat(plane, lost(chunk("a", "stop")))
    smith, _ = endpoint(plane, face)
    assert [one.text for one in smith.generate_text_stream(prompt="Hi")] == ["a"] and len(plane.requests) == 1


def test_only_the_last_chunk_was_lost(plane: FakePlane, face: Face) -> None:
    chat(plane, lost(chunk("a"), chunk("b")))
    smith, _ = endpoint(plane, face)
    chunks = list(smith.generate_text_stream(prompt="Hi", max_tokens=2))
    assert [one.text for one in chunks] == ["a", "b", ""] and chunks[-1].finish_reason == "length"
    assert chunks[-1].raw["resumed"] is True and len(plane.requests) == 1


@pytest.mark.parametrize("patience", [0, 0.3])
def test_the_time_for_another_replica(plane: FakePlane, face: Face, patience: float) -> None:
    chat(plane, lost(chunk("a")), BUSY)
    data = face.keep(face.data(base_url=plane.url, project="acme", api_key=LIVE, resume_timeout=patience))
    answer = data.endpoint("smith").generate_text_stream(prompt="Hi")
    assert next(answer).text == "a"
    began = time.monotonic()
    with pytest.raises(fleet.ApiError):
        next(answer)
    assert time.monotonic() - began < patience + 1
    assert len(plane.requests) == 1 if patience == 0 else 2 <= len(plane.requests) <= 4


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), True, "5", None])
def test_invalid_times(face: Face, seconds: Any) -> None:
    with pytest.raises(fleet.ConfigurationError, match="invalid resume_timeout"):
        face.data(base_url="http://x", project="acme", api_key=LIVE, resume_timeout=seconds)


@pytest.mark.parametrize(
    "more",
    [
        {"n": 2},
        {"logprobs": True},
        {"top_logprobs": 3},
        {"n_probs": 1},
        {"session": "mara"},
        {"messages": []},
    ],
)
def test_requests_whose_answers_are_not_resumed(more: dict[str, Any]) -> None:
    partial = _partial.Partial({"messages": USER, **more})
    partial.take(chunk("a"))
    assert partial.rest() is None


def test_the_request_for_the_rest_of_other_answers() -> None:
    """Reasoning, an answer that the request began, tokens by their ids, and other names of the limit."""
    begun = [*USER, {"role": "assistant", "content": "To "}]
    partial = _partial.Partial({"messages": begun, "continue_final_message": True, "n_predict": -1})
    partial.take(chunk("the"))
    rest = partial.rest()
    assert rest is not None and rest["messages"] == [*USER, {"role": "assistant", "content": "To the"}]
    assert rest["n_predict"] == -1
    unmarked = _partial.Partial({"messages": begun})
    assert unmarked.rest() == {"messages": begun}
    unmarked.take(chunk("the"))
    assert unmarked.rest() is None
    thinking = _partial.Partial({"messages": USER, "max_completion_tokens": 10, "n": None})
    thought = {
        "choices": [{"delta": {"reasoning_content": "So"}, "tokens": [1, 2, 3], "finish_reason": None}]
    }
    thinking.take(thought)
    rest = thinking.rest()
    assert rest is not None and rest["max_completion_tokens"] == 7
    assert rest["messages"][-1] == {"role": "assistant", "content": "", "reasoning_content": "So"}
    assert json.dumps(rest)
