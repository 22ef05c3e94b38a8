"""`chat()`, `stream()` and `complete()`: answers as Python objects, on both engines."""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path

import pytest

import sotto
from conftest import BUILD, SCRIPTED
from sotto.completion import read_completion
from talk import chat


def test_a_chat_gives_text_reason_and_usage(npc: sotto.Engine) -> None:
    answer = npc.chat("one two three", model="npc", max_tokens=50)
    raw = json.loads(npc.llm_chat_completion(chat("one two three")))
    assert answer.text == raw["choices"][0]["message"]["content"] and answer.finish_reason == "stop"
    assert answer.usage.prompt_tokens == raw["usage"]["prompt_tokens"] > 0
    assert answer.usage.completion_tokens == raw["usage"]["completion_tokens"] > 0
    assert answer.raw["object"] == "chat.completion" and answer.tool_calls == ()
    with pytest.raises(AttributeError):
        answer.text = "another"  # type: ignore[misc]


def test_deltas_make_the_answer(npc: sotto.Engine) -> None:
    with npc.stream("a") as answer:
        deltas = list(answer)
    assert "".join(delta.text for delta in deltas) == npc.chat("a").text
    assert [delta.finish_reason for delta in deltas if delta.finish_reason] == ["stop"]


def test_a_stream_that_is_closed_ends(npc: sotto.Engine) -> None:
    npc.load_model("endless", options={"tokens": ["a"], "loop": True})
    answer = npc.stream("a", model="endless")
    assert next(answer).text in ("", "a")
    answer.close()
    assert list(answer) == []


def test_a_text_is_continued(npc: sotto.Engine) -> None:
    assert npc.complete("once", max_tokens=50).raw["object"] == "text_completion"


def test_options_go_with_fields(npc: sotto.Engine) -> None:
    assert npc.chat("a", priority="foreground", target_tps=500, max_tokens=1).finish_reason == "length"
    with pytest.raises(sotto.ArgumentError, match="invalid priority 'hihg'"):
        npc.chat("a", priority="hihg")
    with pytest.raises(sotto.ArgumentError, match='did you mean "max_tokens"'):
        npc.chat("a", max_token=3)


def test_without_a_name_the_only_model_answers(npc: sotto.Engine) -> None:
    assert npc.chat("a").raw["model"] == "npc"
    npc.load_model("other", options={"tokens": ["b"]})
    with pytest.raises(sotto.ArgumentError, match=r"invalid model 'None'.*'npc', 'other'"):
        npc.chat("a")
    npc.unload_model("npc")
    npc.unload_model("other")
    with pytest.raises(sotto.ArgumentError, match=r"invalid model 'None'.*\(none\)"):
        npc.chat("a")


def test_a_session_goes_on(npc: sotto.Engine) -> None:
    with npc.session("mara", "a sheet", model="npc") as mara:
        npc.chat("a", session="mara")
        assert [message["role"] for message in mara.messages] == ["system", "user", "assistant"]


def test_a_session_without_a_model_takes_the_only_one(npc: sotto.Engine) -> None:
    assert npc.session("mara").say("one") == "one"
    npc.load_model("other", options={"tokens": ["b"]})
    assert npc.session("brenna").say("two", {"model": "npc"}) == "two"

    async def talk() -> str:
        async with sotto.aio.Engine(module_dir=SCRIPTED) as engine:
            await engine.load_model("npc", options={"tokens": ["a"]})
            return await (await engine.session("mara")).say("one")

    assert asyncio.run(talk()) == "a"


def test_a_lone_surrogate_is_named_by_its_path(npc: sotto.Engine) -> None:
    with pytest.raises(sotto.ArgumentError, match=r"messages\[0\]\.content '.*': expected Unicode text"):
        npc.chat("a\ud800")
    assert npc.chat("\U0001f600").text == "\U0001f600"


def test_names_of_sotto_are_not_looked_up_on_the_network() -> None:
    with sotto.Engine() as engine, pytest.raises(sotto.ModelLoadError, match="does not exist") as caught:
        engine.load_model("sotto/huose")
    assert caught.value.status == sotto.Status.NOT_FOUND


def test_asyncio_has_the_same() -> None:
    async def talk() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED) as engine:
            await engine.load_model("npc", options={"tokens": ["a", "b"]})
            answer = await engine.chat("hello")
            assert answer.text == "ab"
            async with engine.stream("hello") as deltas:
                assert "".join([delta.text async for delta in deltas]) == "ab"
            assert (await engine.complete("hello")).text == "ab"

    asyncio.run(talk())


def test_tool_calls_are_parsed() -> None:
    function = {"name": "open_door", "arguments": '{"wide": true}'}
    message = {"content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": function}]}
    response = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    answer = read_completion(json.dumps(response))
    assert answer.tool_calls == (sotto.ToolCall("open_door", {"wide": True}, "call-1"),)
    assert (answer.text, answer.finish_reason, answer.usage) == ("", "tool_calls", sotto.Usage())


# Their events come through the engine's queue, which asyncio's engine reads itself: there a task waits.
FRAME_LOOP_ONLY = {"events", "wait", "cancel", "set_request_tps", "close"}


def test_asyncio_has_every_method() -> None:
    def methods(engine: type) -> set[str]:
        return {name for name in dir(engine) if not name.startswith("_") and callable(getattr(engine, name))}

    assert methods(sotto.Engine) - methods(sotto.aio.Engine) == FRAME_LOOP_ONLY
    ours, theirs = (set(inspect.signature(one).parameters) for one in (sotto.Engine, sotto.aio.Engine))
    assert ours == theirs


def test_asyncio_traces_frames() -> None:
    async def play() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, trace_capacity=100) as engine:
            await engine.load_model("npc", options={"tokens": ["a"]})
            engine.frame_begin()
            engine.frame_end()
            await engine.chat("hello")
            assert "decode" in {one.kind for one in engine.trace()}

    asyncio.run(play())


@pytest.mark.real
def test_asyncio_tokenizes_and_saves(tmp_path: Path) -> None:
    async def play() -> None:
        async with sotto.aio.Engine(module_dir=BUILD) as engine:
            await engine.load_model("sotto/house")
            ask = {"model": "sotto/house"}
            told = json.loads(await engine.tokenize({**ask, "content": "a feather"}))
            assert json.loads(await engine.detokenize({**ask, **told}))["content"].strip() == "a feather"
            sheet = {**ask, "messages": [{"role": "system", "content": "Name: Mara"}]}
            assert "Mara" in json.loads(await engine.apply_template(sheet))["prompt"]
            state = tmp_path / "mara.state"
            await engine.save_state({**sheet, "add_generation_prompt": False, "path": str(state)})
            await engine.restore_state({**ask, "path": str(state)})

    asyncio.run(play())
