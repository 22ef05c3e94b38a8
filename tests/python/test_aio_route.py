"""`aio.Route`: the decisions of `Route` on an event loop."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.aio
from remote_server import Asked, RemoteServer, Reply
from sotto import routing
from test_proxy import MODULE, modules, server

__all__ = ["modules", "server"]  # fixtures
pytestmark = pytest.mark.skipif(MODULE is None, reason="the build has no module sotto_proxy")
ASK: dict[str, Any] = {"messages": [{"role": "user", "content": "good evening"}]}
Test = Callable[[sotto.aio.Engine], Awaitable[Any]]


@pytest.fixture
def run(server: RemoteServer, modules: Path) -> Callable[[Test], None]:
    """Runs a test with an engine that has the local model `npc` and the server's models."""

    async def main(test: Test) -> None:
        proxy = sotto.Backend.proxy("studio", server.url, options={"max_retries": 0})
        backends = [sotto.Backend.in_memory(), proxy]
        async with sotto.aio.Engine(backends=backends, module_dir=modules) as engine:
            await engine.load_model("npc", options={})
            await asyncio.wait_for(test(engine), 60)

    return lambda test: asyncio.run(main(test))


def test_it_has_the_arguments_of_the_blocking_route() -> None:
    for name in ("__init__", "stream", "text"):
        theirs, ours = (inspect.signature(getattr(one, name)) for one in (routing.Route, sotto.aio.Route))
        assert list(theirs.parameters.values()) == list(ours.parameters.values())
    assert sotto.aio.Route.__module__ == sotto.aio.Request.__module__ == "sotto.aio"


def test_the_policy_says_who_answers(run: Any, server: RemoteServer) -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        assert await sotto.aio.Route(engine, "npc", "studio::m").text(ASK) == "good evening"
        assert not server.asked
        first = sotto.aio.Route(engine, "npc", "studio::m", policy="remote_first")
        assert await first.text(ASK) == "hello there"
        server.answer = lambda _, reply: reply.json({"error": "overloaded"}, 503)
        assert await first.text(ASK) == "good evening"
        await engine.load_model("ill", options={"fail_at": 0})
        with pytest.raises(sotto.InferenceError, match="overloaded"):
            await sotto.aio.Route(engine, "ill", "studio::m").text(ASK)

    run(test)


@pytest.mark.parametrize("policy", ["remote_first", "both"])
def test_a_silent_server_is_overtaken_and_cancelled(run: Any, server: RemoteServer, policy: Any) -> None:
    gone = threading.Event()

    def stalls(_: Asked, reply: Reply) -> None:
        reply.socket.settimeout(10)
        if reply.socket.recv(1) == b"":
            gone.set()

    async def test(engine: sotto.aio.Engine) -> None:
        server.answer = stalls
        route = sotto.aio.Route(engine, "npc", "studio::m", policy=policy, patience=0.2)
        assert await route.text(ASK) == "good evening"
        assert await asyncio.to_thread(gone.wait, 5) or not server.asked  # cancelled before it was connected

    run(test)


def test_what_breaks_off_is_continued_and_said_once(run: Any, server: RemoteServer) -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        server.answer = lambda _, reply: reply.chat(["once ", "upon "], finish=None)
        route = sotto.aio.Route(engine, "npc", "studio::m", policy="remote_first")
        chunks = [json.loads(chunk) async for chunk in route.stream({**ASK, "max_tokens": 10})]
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
        # The local model says back the last message: the server's words, which it is to continue.
        assert "".join(delta.get("content") or "" for delta in deltas) == "once upon once upon"
        assert [delta["role"] for delta in deltas if delta.get("role")] == ["assistant"]
        assert {chunk["model"] for chunk in chunks} == {"studio::m", "npc"}

    run(test)


@pytest.mark.parametrize("way", ["close", "cancel"])
def test_ending_a_stream_cancels_both(run: Any, server: RemoteServer, way: str) -> None:
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

    async def test(engine: sotto.aio.Engine) -> None:
        server.answer = speaks
        route = sotto.aio.Route(engine, "npc", "studio::m", policy="remote_first")
        if way == "close":
            stream = route.stream(ASK)
            await anext(stream)
            await stream.aclose()  # type: ignore[attr-defined]
        else:
            speaking = asyncio.ensure_future(route.text(ASK))
            while not server.asked:
                await asyncio.sleep(0.01)
            speaking.cancel()
            await asyncio.wait([speaking])
        assert await asyncio.to_thread(gone.wait, 5)
        assert not engine._asked

    run(test)


def test_bad_values_are_refused_at_once(run: Any, server: RemoteServer) -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        with pytest.raises(ValueError, match="policy"):
            sotto.aio.Route(engine, "npc", "studio::m", policy="fastest")  # type: ignore[arg-type]
        route = sotto.aio.Route(engine, "npc", "studio::m")
        with pytest.raises(TypeError, match="pace"):
            route.stream(ASK, pace=3)  # type: ignore[call-arg]
        with pytest.raises(ValueError, match="expected a JSON object"):
            route.stream("[]")
        with pytest.raises(ValueError, match="temperature"):
            await route.text({**ASK, "temperature": -1})
        assert not server.asked

    run(test)
