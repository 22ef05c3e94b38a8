"""`aio`: the engine on an event loop."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import sotto
import sotto.aio
from conftest import SCRIPTED
from talk import chat, content, load_endless, prompt


def run(test: Callable[[sotto.aio.Engine], Awaitable[Any]]) -> None:
    """Runs `test` with an engine on a loop of its own."""

    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as engine:
            await engine.load_model("npc", options={})
            await asyncio.to_thread(load_endless, engine._engine)
            await asyncio.wait_for(test(engine), 60)

    asyncio.run(main())


async def served(engine: sotto.aio.Engine) -> None:
    """The one stream of `endless` is free."""
    response = await asyncio.wait_for(engine.llm_chat_completion(chat(model="endless", max_tokens=1)), 5)
    assert content(response) == " on"


def test_answers() -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        assert content(await engine.llm_chat_completion(chat("a b"))) == "a b"
        assert json.loads(await engine.llm_text_completion(prompt("c d")))["choices"][0]["text"] == "c d"
        said = [json.loads(chunk) async for chunk in engine.llm_chat_completion_stream(chat("e f"))]
        assert [one["choices"][0]["delta"].get("content") for one in said] == ["e", " f", None]
        assert said[-1]["choices"][0]["finish_reason"] == "stop"
        text = [json.loads(chunk) async for chunk in engine.llm_text_completion_stream(prompt("g h"))]
        assert "".join(one["choices"][0]["text"] for one in text) == "g h"

    run(test)


def test_submitted_requests() -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        whole = await engine.submit("chat", chat("a b")).finish()
        assert content(whole.json) == "a b"
        request = engine.submit("chat", chat("c d"), chunks=True, priority="foreground")
        kinds = []
        while (event := await request.next()).kind != "request_done":
            kinds.append(event.kind)
            assert not event.json or json.loads(event.json)["object"] == "chat.completion.chunk"
        assert "text" in kinds
        endless = engine.submit("chat", chat(model="endless"))
        await endless.next()
        endless.abandon("the player left")
        with pytest.raises(sotto.SottoError, match="the player left"):
            await endless.finish()
        await served(engine)
        with pytest.raises(ValueError, match="invalid op 'sing'"):
            engine.submit("sing", chat("a"))  # type: ignore[arg-type]
        with pytest.raises((TypeError, ValueError), match="chunks"):
            engine.submit("chat", chat("a"), chunks=1)  # type: ignore[arg-type]

    run(test)


def test_models_and_settings() -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        heard: list[tuple[str, float, bool]] = []
        here = threading.get_ident()
        await engine.load_model(
            "other",
            options={"load_ms": 50},
            progress=lambda what, done: heard.append((what, done, threading.get_ident() == here)),
        )
        assert heard[-1] == ("load", 1.0, True)
        assert engine.model_is_loaded("other") and len(json.loads(engine.model_list())) == 3
        await engine.load_model("other", options={"load_ms": 50})
        await engine.unload_model("other")
        assert not engine.model_is_loaded("other")
        engine.set_scheduling_mode("balance")
        engine.set_vram_budget_mb(5)
        engine.set_target_tps(7)
        found = await engine.describe()
        assert (found["mode"], found["vram_budget"], found["target_tps"]) == ("balance", 5 << 20, 7)

    run(test)


def test_errors() -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        with pytest.raises(ValueError, match="expected JSON"):
            await engine.llm_chat_completion("{")
        with pytest.raises(ValueError, match="missing model: "):
            async for _ in engine.llm_chat_completion_stream("{}"):
                pass
        with pytest.raises(TypeError, match="invalid request_json '7': expected a str of JSON, not int"):
            engine.llm_chat_completion_stream(7)  # type: ignore[arg-type]
        with pytest.raises(sotto.InferenceError, match="model 'ghost' is not loaded: load it first"):
            await engine.llm_chat_completion(chat(model="ghost"))
        with pytest.raises(sotto.ModelLoadError, match="does not exist"):
            await engine.load_model("/nowhere/x.gguf")
        with pytest.raises(sotto.ModelLoadError, match="model 'ghost' is not loaded"):
            await engine.unload_model("ghost")
        await engine.load_model("bad", options={"tokens": ["a", "b"], "fail_at": 1})
        stream = engine.llm_chat_completion_stream(chat(model="bad"))
        assert json.loads(await anext(stream))["choices"][0]["delta"]["content"] == "a"
        with pytest.raises(sotto.InferenceError, match="fails at token 1"):
            await anext(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    run(test)


def test_cancelling_a_task_cancels_what_it_waits_for() -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        async def read() -> None:
            async for _ in engine.llm_chat_completion_stream(chat(model="endless")):
                pass

        for waiting in (engine.llm_chat_completion(chat(model="endless")), read()):
            task = asyncio.ensure_future(waiting)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await served(engine)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(engine.llm_chat_completion(chat(model="endless")), 0.05)
        await served(engine)

    run(test)


def test_cancelling_a_load() -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(engine.load_model("slow", options={"load_ms": 3000}), 0.1)
        assert not engine.model_is_loaded("slow")
        await engine.load_model("other", options={})

    run(test)


def test_streams_cut_short() -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        async for _ in engine.llm_chat_completion_stream(chat(model="endless")):
            break
        gc.collect()
        await served(engine)
        async with engine.llm_chat_completion_stream(chat(model="endless")) as stream:
            await anext(stream)
        assert [chunk async for chunk in stream] == []
        await served(engine)
        await stream.aclose()

    run(test)


def test_many_at_once_on_one_thread() -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        before = threading.active_count()
        answers = asyncio.gather(*(engine.llm_chat_completion(chat(f"number {n}")) for n in range(200)))
        await asyncio.sleep(0)
        assert threading.active_count() == before
        assert [content(answer) for answer in await answers] == [f"number {n}" for n in range(200)]

    run(test)


def test_the_loop_runs_on_meanwhile() -> None:
    async def test(engine: sotto.aio.Engine) -> None:
        await engine.load_model("slow", options={"tokens": ["a"], "token_ms": 200})
        task = asyncio.ensure_future(engine.llm_chat_completion(chat(model="slow")))
        beats = 0
        while not task.done():
            await asyncio.sleep(0.002)
            beats += 1
        assert beats > 30

    run(test)


def test_closing_ends_what_waits() -> None:
    async def main() -> None:
        engine = sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute")
        await asyncio.to_thread(load_endless, engine._engine)
        stream = engine.llm_chat_completion_stream(chat(model="endless"))
        await anext(stream)
        waiting = [
            asyncio.ensure_future(engine.llm_chat_completion(chat(model="endless"))),
            asyncio.ensure_future(engine.load_model("slow", options={"load_ms": 2000})),
        ]
        await asyncio.sleep(0.1)
        began = time.monotonic()
        await engine.aclose()
        await engine.aclose()
        answers = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
        assert time.monotonic() - began < 5
        assert [type(answer) for answer in answers] == [sotto.InferenceError, sotto.ModelLoadError]
        with pytest.raises(sotto.InferenceError, match=r"closed|destroyed"):
            async for _ in stream:
                pass
        with pytest.raises(sotto.SottoError, match="engine is closed"):
            await engine.llm_chat_completion(chat())
        with pytest.raises(sotto.SottoError, match="engine is closed"):
            await engine.load_model("npc", options={})

    asyncio.run(main())


def test_one_loop_per_engine() -> None:
    async def create() -> sotto.aio.Engine:
        return sotto.aio.Engine(module_dir=SCRIPTED)

    with pytest.raises(RuntimeError, match="no running event loop"):
        sotto.aio.Engine(module_dir=SCRIPTED)
    engine = asyncio.run(create())

    async def use() -> None:
        with pytest.raises(RuntimeError, match="belongs to another event loop"):
            await engine.llm_chat_completion(chat())
        await engine.aclose()

    asyncio.run(use())


def test_a_dropped_engine_ends_with_its_thread() -> None:
    before = threading.active_count()

    async def main() -> None:
        sotto.aio.Engine(module_dir=SCRIPTED)
        await asyncio.sleep(0.01)

    asyncio.run(main())
    gc.collect()
    end = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_a_stream_keeps_its_engine() -> None:
    async def main() -> None:
        async def begin() -> sotto.aio.TokenStream:
            engine = sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute")
            await engine.load_model("npc", options={"token_ms": 5})
            return engine.llm_chat_completion_stream(chat("a b c"))

        stream = await begin()
        gc.collect()
        assert len([chunk async for chunk in stream]) == 4

    asyncio.run(main())


def test_it_is_found_under_the_package() -> None:
    assert sotto.aio.Engine is not sotto.Engine and "aio" in sotto.__all__
