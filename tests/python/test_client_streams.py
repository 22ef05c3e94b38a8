"""`sotto.client`: streams, blocking and in an event loop, and the asynchronous twin."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

import client_twin
from client_mock import MockServer, Reply, delta, events, stream
from client_signatures import MESSAGES, SIGNATURES
from sotto import client as module
from sotto.client import (
    ApiError,
    AsyncLlamaCppClient,
    AsyncStream,
    DeadlineExceeded,
    LlamaCppClient,
    Stream,
    TransportError,
)

CHAT = "/v1/chat/completions"


@pytest.fixture
def server() -> Iterator[MockServer]:
    """A recording server."""
    with MockServer() as mock:
        yield mock


@pytest.fixture
def client(server: MockServer) -> Iterator[LlamaCppClient]:
    """A client of it."""
    with LlamaCppClient(server.url, timeout=20) as one:
        yield one


def open_chat(client: LlamaCppClient) -> Stream:
    """Starts a stream."""
    found = client.chat.completions.create(MESSAGES, stream=True)
    assert isinstance(found, Stream)
    return found


def endless() -> Reply:
    """Chunks without an end."""
    return stream(*[events(delta("a"), done=False)] * 10_000, pause=0.005)


@pytest.mark.row("B-045", "B-063", "B-064", "B-085")
def test_chunks_are_dicts(client: LlamaCppClient, server: MockServer) -> None:
    server.replies[CHAT] = stream(events(delta("Once"), delta(" upon"), delta("", "stop")))
    said = ""
    for chunk in open_chat(client):
        said += chunk.get("choices", [{}])[0].get("delta", {}).get("content", "")
    assert said == "Once upon"
    assert server.last.body["stream"] is True
    native = [{"content": "a", "tokens": [5], "stop": False}, {"content": "", "tokens": [], "stop": True}]
    server.replies["/completion"] = stream(events(*native, done=False))
    chunks: Any = client.complete("a", stream=True)
    assert list(chunks) == native


@pytest.mark.row("B-066")
def test_the_last_chunk_has_usage(client: LlamaCppClient, server: MockServer) -> None:
    last = {"choices": [], "usage": {"total_tokens": 3}, "timings": {"prompt_n": 1}}
    server.replies[CHAT] = stream(events(delta("a", "stop"), last))
    assert list(open_chat(client))[-1] == last


@pytest.mark.row("B-010")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_events_are_parsed_wherever_they_are_cut(newline: str) -> None:
    wanted = [delta("Grüße 🐉"), delta("", "stop")]
    comment = f": keep-alive{newline}{newline}".encode()
    odd = f"data: not JSON{newline}{newline}data: 5{newline}{newline}event: x{newline}{newline}".encode()
    whole = comment + events(wanted[0], done=False, newline=newline) + odd + comment
    whole += events(wanted[1], newline=newline) + events(delta("after the end"))
    with MockServer() as server, LlamaCppClient(server.url, timeout=20) as client:
        for cut in range(1, len(whole)):
            server.replies[CHAT] = stream(whole[:cut], whole[cut:])
            assert list(open_chat(client)) == wanted, cut
        server.replies[CHAT] = stream(*(whole[at : at + 1] for at in range(len(whole))))
        assert list(open_chat(client)) == wanted


@pytest.mark.row("B-011")
@pytest.mark.parametrize("way", ["close", "with", "drop", "break"])
def test_a_closed_stream_hangs_up(client: LlamaCppClient, server: MockServer, way: str) -> None:
    server.replies[CHAT] = endless()
    chunks: Stream | None = open_chat(client)
    assert chunks is not None and next(chunks) and next(chunks)
    if way == "close":
        chunks.close()
        chunks.close()
        assert list(chunks) == []
    elif way == "with":
        with chunks:
            next(chunks)
        assert list(chunks) == []
    elif way == "break":
        for _ in chunks:
            break
        chunks = None
        gc.collect()
    else:
        del chunks
        gc.collect()
    assert server.gone.wait(5)


def test_another_thread_ends_a_stream_that_waits(client: LlamaCppClient, server: MockServer) -> None:
    server.replies[CHAT] = stream(events(delta("a"), done=False), b"", pause=3)
    chunks = open_chat(client)
    heard: list[Any] = []
    thread = threading.Thread(target=lambda: heard.extend(chunks))
    thread.start()
    time.sleep(0.3)
    began = time.monotonic()
    chunks.close()
    thread.join(10)
    assert time.monotonic() - began < 2 and not thread.is_alive()


def test_a_closed_client_ends_its_streams(server: MockServer) -> None:
    server.replies[CHAT] = endless()
    client = LlamaCppClient(server.url)
    chunks = open_chat(client)
    next(chunks)
    client.close()
    assert server.gone.wait(5)
    with pytest.raises(TransportError):
        for _ in chunks:
            pass


@pytest.mark.row("B-006")
def test_the_timeout_is_that_of_the_whole_stream(server: MockServer) -> None:
    server.replies[CHAT] = endless()
    with LlamaCppClient(server.url, timeout=0.4) as client:
        began = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            list(open_chat(client))
        assert 0.3 < time.monotonic() - began < 1.5
    assert server.gone.wait(5)


def test_an_error_inside_a_stream_raises(client: LlamaCppClient, server: MockServer) -> None:
    error = {"error": {"code": 503, "message": "out of slots", "type": "unavailable_error"}}
    server.replies[CHAT] = stream(events(delta("a"), error, done=False))
    chunks = open_chat(client)
    next(chunks)
    with pytest.raises(ApiError, match="out of slots") as caught:
        next(chunks)
    assert caught.value.status == 503
    assert list(chunks) == []


def test_a_stream_that_breaks_off_raises(client: LlamaCppClient, server: MockServer) -> None:
    server.replies[CHAT] = stream(events(delta("a"), done=False))
    with pytest.raises(TransportError, match="before the answer was complete"):
        list(open_chat(client))
    server.replies[CHAT] = Reply({"choices": []})  # a server that does not stream
    with pytest.raises(TransportError, match="event-stream"):
        list(open_chat(client))
    server.replies[CHAT] = stream(b"data: " + b"a" * (17 << 20))
    with pytest.raises(TransportError, match="limit"):
        list(open_chat(client))


def run(
    test: Callable[[AsyncLlamaCppClient], Awaitable[Any]], server: MockServer, timeout: float = 20
) -> None:
    """Runs a test with an asynchronous client."""

    async def main() -> None:
        async with AsyncLlamaCppClient(server.url, timeout=timeout) as client:
            await asyncio.wait_for(test(client), 30)

    asyncio.run(main())


def test_the_twin_is_the_translation() -> None:
    assert [file for file in client_twin.FILES if client_twin.differs(file)] == []


@pytest.mark.parametrize("name", ["", *SIGNATURES])
def test_the_twin_has_the_same_signatures(name: str) -> None:
    def parameters(root: Any) -> list[tuple[str, Any, Any]]:
        for part in name.split(".") if name else ["__init__"]:
            root = getattr(root, part)
        found = inspect.signature(root).parameters.values()
        return [(one.name, one.kind, one.default) for one in found if one.name != "self"]

    blocking, twin = LlamaCppClient(), AsyncLlamaCppClient()
    assert parameters(blocking) == parameters(twin)
    names = {one for one in dir(blocking) if not one.startswith("_")}
    assert names == {one for one in dir(twin) if not one.startswith("_")}
    assert {f"Async{one}" for one in module.__all__ if f"Async{one}" in module.__all__} == {
        one for one in module.__all__ if one.startswith("Async")
    }


def test_the_twin_answers(server: MockServer) -> None:
    async def test(client: AsyncLlamaCppClient) -> None:
        answer: Any = await client.chat.completions.create(MESSAGES)
        assert answer.choices[0].message.content == "Hi"
        answer = await client.chat_completion(MESSAGES)
        assert answer.choices[0].message.content == "Hi"
        assert await client.simple_completion("a") == " Hi"
        assert (await client.health()).status == "ok"
        assert await client.is_ready() and await client.wait_until_ready(5)
        assert (await client.tokenize("a")).tokens == [1, 2]
        assert (await client.metrics()).startswith("#")
        assert [one.id for one in await client.slots.list()] == [0]
        assert await client.lora.set_scales([]) is True
        assert [one.id for one in await client.models.list()] == ["m"]
        answers = await asyncio.gather(*[client.embed("a") for _ in range(20)])
        assert answers == [[[1.0, 0.5]]] * 20

    run(test, server)
    assert server.requests[0].body == server.requests[1].body


@pytest.mark.parametrize("way", ["close", "with", "drop", "cancel"])
def test_the_twin_s_streams_hang_up(server: MockServer, way: str) -> None:
    server.replies[CHAT] = endless()

    async def test(client: AsyncLlamaCppClient) -> None:
        chunks: Any = await client.chat.completions.create(MESSAGES, stream=True)
        assert isinstance(chunks, AsyncStream)
        assert (await anext(chunks))["choices"][0]["delta"]["content"] == "a"
        if way == "close":
            await chunks.close()
            assert [one async for one in chunks] == []
        elif way == "with":
            async with chunks:
                await anext(chunks)
        elif way == "drop":
            del chunks
            gc.collect()
        else:

            async def read() -> None:
                async for _ in chunks:
                    pass

            task = asyncio.create_task(read())
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert await asyncio.to_thread(server.gone.wait, 5)

    run(test, server)


def test_the_twin_s_errors_and_limits(server: MockServer) -> None:
    async def test(client: AsyncLlamaCppClient) -> None:
        server.replies["/props"] = Reply({"error": {"message": "no"}}, status=404)
        with pytest.raises(ApiError, match="no"):
            await client.props()
        server.replies[CHAT] = Reply({"error": {"message": "no"}}, status=400)
        with pytest.raises(ApiError, match="no"):
            await client.chat_completion(MESSAGES, stream=True)
        server.replies["/props"] = Reply({}, pause=3)
        began = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            await client.props()
        server.replies[CHAT] = endless()
        with pytest.raises(DeadlineExceeded):
            chunks: Any = await client.chat_completion(MESSAGES, stream=True)
            async for _ in chunks:
                pass
        assert time.monotonic() - began < 3

    run(test, server, timeout=0.5)

    async def alone() -> None:
        async with AsyncLlamaCppClient(gone.url, timeout=5) as client:
            assert await client.is_ready() is False
            with pytest.raises(TransportError):
                await client.props()

    with MockServer() as gone:
        pass
    asyncio.run(alone())
