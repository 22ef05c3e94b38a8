"""`Route`: which of two models answers, and who continues an answer that breaks off."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

import sotto
from remote_server import Asked, RemoteServer, Reply
from sotto.routing import Route
from test_proxy import MODULE, modules, remote, server

__all__ = ["modules", "remote", "server"]  # fixtures
pytestmark = pytest.mark.skipif(MODULE is None, reason="the build has no module sotto_proxy")
ASK: dict[str, Any] = {"messages": [{"role": "user", "content": "good evening"}]}


@pytest.fixture
def engine(remote: sotto.Engine) -> sotto.Engine:
    """An engine with a local model `npc`, which says back the last message."""
    remote.load_model("npc", options={})
    return remote


def test_the_first_of_the_policy_answers_alone(engine: sotto.Engine, server: RemoteServer) -> None:
    assert Route(engine, "npc", "studio::m").text(ASK) == "good evening"
    assert not server.asked
    assert Route(engine, "npc", "studio::m", policy="remote_first").text(ASK) == "hello there"
    assert server.last.body["messages"] == ASK["messages"]


def test_the_other_answers_after_a_failure(engine: sotto.Engine, server: RemoteServer) -> None:
    server.answer = lambda _, reply: reply.json({"error": "overloaded"}, 503)
    assert Route(engine, "npc", "studio::m", policy="remote_first").text(ASK) == "good evening"
    engine.load_model("ill", options={"fail_at": 0})
    with pytest.raises(sotto.InferenceError, match="overloaded"):
        Route(engine, "ill", "studio::m").text(ASK)
    server.answer = lambda _, reply: reply.chat(["well"])
    assert Route(engine, "ill", "studio::m").text(ASK) == "well"


def test_a_bad_request_is_nobodys_to_answer(engine: sotto.Engine, server: RemoteServer) -> None:
    with pytest.raises(ValueError, match="temperature"):
        Route(engine, "npc", "studio::m").text({**ASK, "temperature": -1})
    assert not server.asked


@pytest.mark.parametrize("policy", ["remote_first", "both"])
def test_a_silent_server_is_overtaken_and_cancelled(
    engine: sotto.Engine, server: RemoteServer, policy: Any
) -> None:
    gone = threading.Event()

    def stalls(_: Asked, reply: Reply) -> None:
        reply.socket.settimeout(10)
        if reply.socket.recv(1) == b"":
            gone.set()

    server.answer = stalls
    began = time.monotonic()
    assert Route(engine, "npc", "studio::m", policy=policy, patience=0.2).text(ASK) == "good evening"
    assert time.monotonic() - began < 3
    assert gone.wait(5) or not server.asked  # cancelled before it was connected


def test_a_slow_local_model_loses_to_the_server(engine: sotto.Engine, server: RemoteServer) -> None:
    engine.load_model("slow", options={"prompt_tokens": 200, "step_tokens": 1, "prompt_token_ms": 10})
    assert Route(engine, "slow", "studio::m", policy="both").text(ASK) == "hello there"


def test_what_breaks_off_is_continued_and_said_once(engine: sotto.Engine, server: RemoteServer) -> None:
    server.answer = lambda _, reply: reply.chat(["once ", "upon "], finish=None)
    route = Route(engine, "npc", "studio::m", policy="remote_first")
    chunks = [json.loads(chunk) for chunk in route.stream({**ASK, "max_tokens": 10})]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    # The local model says back the last message: the server's words, which it is to continue.
    assert "".join(delta.get("content") or "" for delta in deltas) == "once upon once upon"
    assert [delta["role"] for delta in deltas if delta.get("role")] == ["assistant"]
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk["choices"]]
    assert [reason for reason in reasons if reason] == ["stop"]
    assert {chunk["model"] for chunk in chunks} == {"studio::m", "npc"}


def test_a_broken_tool_call_is_not_continued(engine: sotto.Engine, server: RemoteServer) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "open", "arguments": "{"}}

    def answer(_: Asked, reply: Reply) -> None:
        reply.begin()
        reply.event({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})

    server.answer = answer
    tool = {"type": "function", "function": {"name": "open", "parameters": {"type": "object"}}}
    with pytest.raises(sotto.InferenceError, match="before the answer was complete"):
        Route(engine, "npc", "studio::m", policy="remote_first").text({**ASK, "tools": [tool]})


def test_closing_the_stream_cancels_both(engine: sotto.Engine, server: RemoteServer) -> None:
    gone = threading.Event()

    def speaks(_: Asked, reply: Reply) -> None:
        reply.begin()
        try:
            while True:
                reply.event({"choices": [{"index": 0, "delta": {"content": "a "}}]})
                time.sleep(0.01)
        except OSError:
            gone.set()
            raise

    server.answer = speaks
    stream = Route(engine, "npc", "studio::m", policy="remote_first").stream(ASK)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert gone.wait(5)


@pytest.mark.parametrize(
    ("values", "said"),
    [({"policy": "fastest"}, "policy"), ({"patience": -1}, "patience"), ({"patience": "x"}, "patience")],
)
def test_bad_values_are_refused(engine: sotto.Engine, values: Any, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        Route(engine, "npc", "studio::m", **values)


def test_an_unknown_option_is_refused_at_once(engine: sotto.Engine) -> None:
    with pytest.raises(TypeError, match="pace"):
        Route(engine, "npc", "studio::m").stream(ASK, pace=3)  # type: ignore[call-arg]


def test_a_closed_engine_is_an_error_of_the_answer(engine: sotto.Engine) -> None:
    route = Route(engine, "npc", "studio::m")
    engine.close()
    with pytest.raises(sotto.SottoError, match="closed"):
        route.text(ASK)


def test_each_chunk_comes_once(engine: sotto.Engine, server: RemoteServer) -> None:
    chunks = list(Route(engine, "npc", "studio::m", policy="remote_first").stream(ASK))
    roles = [chunk for chunk in chunks if '"role"' in chunk]
    assert len(roles) == 1 and len(chunks) == len(set(chunks))
