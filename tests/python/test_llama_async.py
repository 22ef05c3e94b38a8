"""`sotto.llama`: calls for asyncio, and the GIL."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import SCRIPTED
from sotto.llama import AsyncStream, GenerationError, Llama, LlamaError, SamplingParams, ValidationError

GREEDY = SamplingParams(temperature=0, repeat_penalty=1.0)
HELLO = [{"role": "user", "content": "one two three four"}]


@pytest.fixture(scope="module")
def llm(tiny_file: Path) -> Iterator[Llama]:
    with Llama(tiny_file, n_threads=1, sampling=GREEDY, embeddings=True) as llm:
        yield llm


@pytest.fixture
def scripted() -> Iterator[Callable[..., Llama]]:
    """Opens a model that answers from a script."""
    with sotto.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as engine:

        def open_(name: str = "npc", **script: Any) -> Llama:
            engine.load_model(name, options={"streams": 8, **script})
            return Llama(name, engine=engine)

        yield open_


def said(answer: Any) -> str:
    return str(answer["choices"][0]["message"]["content"])


@pytest.mark.real
@pytest.mark.row("C-031", "C-044", "C-051", "C-053")
def test_awaited_calls_answer_as_the_others(llm: Llama) -> None:
    async def ask() -> None:
        assert await llm.generate_async("hello", 6) == llm.generate("hello", 6)
        told = await llm.generate_async("hello", 6, logprobs=2, echo=True)
        assert isinstance(told, dict) and told["text"] == llm.generate("hello", 6, echo=True)
        await llm.generate_async("hello", 6)
        end = llm.kv_cache_seq_pos_max()
        await llm.generate_async("hello", 6, reset_kv_cache=False)
        assert llm.kv_cache_seq_pos_max() > end + 6
        stream = await llm.generate_async("hello", 6, stream=True)
        assert isinstance(stream, AsyncStream)
        parts = [part async for part in stream]
        assert len(parts) > 1 and "".join(parts) == llm.generate("hello", 6)
        chat = await llm.create_chat_completion_async(HELLO, 6)
        assert isinstance(chat, dict) and said(chat) == said(llm.create_chat_completion(HELLO, 6))
        chunks = await llm.create_chat_completion_async(HELLO, 6, stream=True)
        assert isinstance(chunks, AsyncStream)
        deltas = [chunk["choices"][0]["delta"].get("content", "") async for chunk in chunks]
        assert "".join(deltas) == said(chat)
        assert await llm.embed_async("hello") == llm.embed("hello")
        told = await llm.create_embedding_async(["a", "b"], model="npc")
        assert told == llm.create_embedding(["a", "b"], model="npc")

    asyncio.run(ask())
    asyncio.run(ask())  # another event loop


@pytest.mark.real
@pytest.mark.row("C-031", "C-054")
def test_awaited_calls_raise_as_the_others(llm: Llama, tiny_file: Path) -> None:
    async def ask() -> None:
        with pytest.raises(ValidationError, match="invalid max_tokens"):
            await llm.generate_async("hello", 0)
        with pytest.raises(ValidationError, match="invalid logprobs"):
            await llm.generate_async("hello", stream=True, logprobs=1)
        with pytest.raises(ValidationError, match="invalid messages"):
            await llm.create_chat_completion_async([])
        with pytest.raises(GenerationError, match="context holds 512"):
            await llm.generate_async("hello " * 600)
        closed = Llama(tiny_file, n_threads=1)
        for call in (closed.embed_async("a"), closed.create_embedding_async("a")):
            with pytest.raises(ValidationError, match="expected True"):
                await call
        closed.close()
        for call in (closed.generate_async("a"), closed.embed_async("a")):
            with pytest.raises(LlamaError, match="closed"):
                await call
        assert await llm.generate_async("hello", 1)

    asyncio.run(ask())


@pytest.mark.row("C-202", "C-203")
def test_gathered_calls_take_turns_and_leave_the_loop_free(scripted: Callable[..., Llama]) -> None:
    llm = scripted(token_ms=10)
    engine, most, gaps = llm._engine(), 0, [0.0]

    async def watch() -> None:
        nonlocal most
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            gaps.append(time.perf_counter() - before)
            most = max(most, engine.stats().live)

    async def ask() -> None:
        watching = asyncio.create_task(watch())
        messages = [[{"role": "user", "content": f"{n} b c d"}] for n in range(4)]
        answers = await asyncio.gather(*map(llm.create_chat_completion_async, messages))
        assert [said(one) for one in answers] == [f"{n} b c d" for n in range(4)]
        watching.cancel()

    asyncio.run(ask())
    assert most == 1 and len(gaps) > 10 and sorted(gaps)[len(gaps) // 2] < 0.03


def test_cancelled_tasks_cancel_their_answers(scripted: Callable[..., Llama]) -> None:
    llm = scripted(tokens=["a "], loop=True, token_ms=5)
    engine = llm._engine()

    async def ask() -> None:
        for stream in (False, True):
            task = asyncio.create_task(endless(stream))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            told = await asyncio.wait_for(llm.create_chat_completion_async(HELLO, 2), 10)
            assert isinstance(told, dict) and said(told) == "a a "
        while engine.stats().live:
            await asyncio.sleep(0.01)

    async def endless(stream: bool) -> None:
        told = await llm.create_chat_completion_async(HELLO, 100_000, stream=stream)
        assert isinstance(told, AsyncStream)
        async for _ in told:
            pass

    asyncio.run(asyncio.wait_for(ask(), 30))


def test_an_open_stream_is_told_to_its_own_task_and_waited_for_by_others(
    scripted: Callable[..., Llama],
) -> None:
    llm = scripted(token_ms=2)

    async def ask() -> None:
        stream = await llm.create_chat_completion_async(HELLO, stream=True)
        assert isinstance(stream, AsyncStream)
        await anext(stream)
        with pytest.raises(LlamaError, match="aclose"):
            await llm.create_chat_completion_async(HELLO)
        with pytest.raises(LlamaError, match="still being read"):
            llm.create_chat_completion(HELLO)
        other = asyncio.create_task(llm.create_chat_completion_async(HELLO))
        await asyncio.sleep(0.05)
        assert not other.done()
        await stream.aclose()
        assert said(await other) == "one two three four"
        dropped = await llm.create_chat_completion_async(HELLO, stream=True)
        del dropped
        assert said(await asyncio.wait_for(llm.create_chat_completion_async(HELLO), 10))

    asyncio.run(asyncio.wait_for(ask(), 30))


@pytest.mark.row("C-204")
def test_two_instances_answer_at_the_same_time(scripted: Callable[..., Llama]) -> None:
    first = scripted(token_ms=10)
    second, most = Llama("npc", engine=first._engine()), 0
    threads = [threading.Thread(target=one.create_chat_completion, args=(HELLO,)) for one in (first, second)]
    for one in threads:
        one.start()
    while any(one.is_alive() for one in threads):
        most = max(most, first._engine().stats().live)
    assert most == 2


@pytest.mark.real
@pytest.mark.row("C-206")
def test_the_gil_is_free_during_calls(llm: Llama) -> None:
    text = "hello there, the river was a king and who ran\n" * 4000
    calls: list[Callable[[], object]] = [
        lambda: llm.tokenize(text),
        lambda: llm("hello", 400, ignore_eos=True),
        lambda: list(llm.generate_stream("hello " * 50, 100)),
    ]
    for call in calls:
        counted, done = [0], threading.Event()

        def count(counted: list[int] = counted, done: threading.Event = done) -> None:
            while not done.is_set():
                counted[0] += 1
                time.sleep(0)

        counter = threading.Thread(target=count, daemon=True)
        counter.start()
        before = counted[0]
        try:
            call()
            assert counted[0] > before + 10
        finally:
            done.set()
        counter.join()
