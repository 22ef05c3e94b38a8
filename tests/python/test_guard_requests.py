"""Guardrails that need models, in the requests and answers of an engine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.npc
from conftest import SCRIPTED
from guard_models import JUDGE, TOPICS, Encoder, lend, load_judge, says
from tiny_encoder import TinyEncoder


def body(text: str, **fields: Any) -> str:
    return json.dumps({"model": "npc", "messages": [{"role": "user", "content": text}], **fields})


@pytest.fixture
def guarded() -> Iterator[tuple[sotto.Engine, Encoder]]:
    """An engine whose requests are checked, with a model that repeats what it hears."""
    config = {"input": [{"type": "phrases", "phrases": ["swine"]}, TOPICS]}
    with sotto.Engine("cpu", module_dir=SCRIPTED, guardrails=config) as engine:
        model = lend(engine)
        engine.load_model("npc", options={})
        yield engine, model


def test_requests_are_checked(guarded: tuple[sotto.Engine, Encoder]) -> None:
    engine, model = guarded
    assert engine.chat("a room", model="npc").text == "a room"
    blocked = r"messages\[0\].content: blocked by guardrail 'topics': weapons detected"
    with pytest.raises(sotto.InferenceError, match=blocked) as raised:
        engine.llm_chat_completion(body("How do I build a bomb?"))
    assert raised.value.status == sotto.Status.BLOCKED
    with pytest.raises(sotto.InferenceError, match=blocked):
        engine.llm_chat_completion(body("The weather. " * 500 + "a bomb"))  # read on another thread
    with pytest.raises(sotto.InferenceError, match="prompt: blocked by guardrail 'topics'"):
        engine.llm_text_completion(json.dumps({"model": "npc", "prompt": "a bomb"}))
    with pytest.raises(sotto.InferenceError, match="input: blocked by guardrail 'topics'"):
        engine.llm_respond(json.dumps({"model": "npc", "input": "a bomb"}))
    part = {"type": "input_text", "text": "a bomb"}
    item = {"role": "user", "content": [part]}
    with pytest.raises(sotto.InferenceError, match=r"input\[0\].content\[0\].text: blocked"):
        engine.llm_respond(json.dumps({"model": "npc", "input": [item]}))
    model.batches.clear()
    old = [{"role": "user", "content": "a bomb"}, {"role": "assistant", "content": "No."}]
    new = {"role": "user", "content": "ale"}
    answer = json.loads(engine.llm_chat_completion(json.dumps({"model": "npc", "messages": [*old, new]})))
    assert answer["choices"][0]["message"]["content"] == "ale" and model.batches == [["ale"]]
    engine.unload_model("encoder")
    with pytest.raises(sotto.InferenceError, match=r"guardrails\.input\[1\]: model 'encoder' is not loaded"):
        engine.chat("a room", model="npc")
    with pytest.raises(sotto.InferenceError, match="blocked by guardrail 'keyword'"):
        engine.chat("swine", model="npc")


def test_turns_of_a_session_keep_their_order(guarded: tuple[sotto.Engine, Encoder]) -> None:
    engine, model = guarded
    model.delay = 0.05
    with engine.session("mara", model="npc") as session:
        streams = [session.chat(said) for said in ("one", "two", "three")]
        assert ["".join(stream) and None for stream in streams] == [None] * 3
        said = [one["content"] for one in session.messages if one["role"] == "user"]
        assert said == ["one", "two", "three"]
        with pytest.raises(sotto.InferenceError, match="blocked"):
            session.say("a bomb")
        assert len(session.messages) == 6
        hidden = "ale \\u0061 " * 900  # looks like the name of any session
        assert session.say(hidden)


@pytest.fixture
def speaker() -> Iterator[sotto.Engine]:
    """An engine whose answers are checked, with a model that repeats what it hears."""
    config = {"output": [TOPICS, {"type": "phrases", "phrases": ["swine"]}, JUDGE]}
    with sotto.Engine("cpu", module_dir=SCRIPTED, guardrails=config) as engine:
        lend(engine)
        engine.load_model("npc", options={"logprobs": True})
        load_judge(engine, says("allow"))
        yield engine


def test_complete_answers_are_checked(speaker: sotto.Engine) -> None:
    for said, kept, reason in (
        ("a room", "a room", "stop"),
        ("How do I build a bomb?", "", "content_filter"),
        ("you swine of a bomb", "you ", "content_filter"),
    ):
        whole = json.loads(speaker.llm_chat_completion(body(said, n=2, seed=1, logprobs=True)))
        told = [(one["message"]["content"], one["finish_reason"]) for one in whole["choices"]]
        assert told == [(kept, reason)] * 2
        logprobs = whole["choices"][0].get("logprobs") or {}
        assert bool(logprobs.get("content")) == bool(kept)
        completion = speaker.chat(said, model="npc")
        assert (completion.text, completion.finish_reason) == (kept, reason)
        assert whole["usage"]["completion_tokens"] > 0
    chunks = [json.loads(one)["choices"][0] for one in speaker.llm_chat_completion_stream(body("a bomb"))]
    assert "".join(one["delta"].get("content", "") for one in chunks) == "a bomb"  # shown before the verdict
    assert chunks[-1]["finish_reason"] == "content_filter"
    deltas = list(speaker.stream("a bomb", model="npc"))
    assert [one.replacement for one in deltas] == [None] * (len(deltas) - 1) + [""]
    assert all(one.replacement is None for one in speaker.stream("you swine", model="npc"))
    with sotto.npc.Character(speaker, sotto.npc.Sheet("Mara"), model="npc") as mara:
        assert mara.say("a bomb") == "" and mara.say("a room") == "a room"
    text = json.loads(speaker.llm_text_completion(json.dumps({"model": "npc", "prompt": "a bomb"})))
    assert (text["choices"][0]["text"], text["choices"][0]["finish_reason"]) == ("", "content_filter")


def test_a_response_says_that_it_is_incomplete(speaker: sotto.Engine) -> None:
    for said, output in (("a bomb", []), ("you swine", ["you "])):
        response = json.loads(speaker.llm_respond(json.dumps({"model": "npc", "input": said})))
        assert response["status"] == "incomplete"
        assert response["incomplete_details"] == {"reason": "content_filter"}
        assert [one["content"][0]["text"] for one in response["output"]] == output
    request = json.dumps({"model": "npc", "input": "a bomb"})
    events = [json.loads(one) for one in speaker.llm_respond_stream(request)]
    assert events[-1]["type"] == "response.incomplete" and events[-1]["response"]["output"] == []


def test_a_session_forgets_a_blocked_answer(speaker: sotto.Engine) -> None:
    with speaker.session("mara", model="npc") as session:
        assert session.say("a room") == "a room" and session.say("a bomb") == ""
        assert [one["content"] for one in session.messages] == ["a room", "a room", "a bomb", ""]
        assert "".join(session.chat("a bomb")) and session.say("ale") == "ale"
        assert session.messages[5]["content"] == ""


def test_answers_are_replaced() -> None:
    rule = {**TOPICS, "action": "rewrite", "replacement": "Let us speak of ale."}
    with sotto.Engine("cpu", module_dir=SCRIPTED, guardrails={"output": [rule]}) as engine:
        lend(engine)
        engine.load_model("npc", options={})
        assert list(engine.stream("a bomb", model="npc"))[-1].replacement == "Let us speak of ale."
        answer = engine.chat("a bomb", model="npc")
        assert (answer.text, answer.finish_reason) == ("Let us speak of ale.", "content_filter")
        response = json.loads(engine.llm_respond(json.dumps({"model": "npc", "input": "a bomb"})))
        assert response["output"][0]["content"][0]["text"] == "Let us speak of ale."


def test_tool_calls_and_reasoning_are_checked() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "say", "arguments": '{"text": "a bomb"}'}}
    thought = [[{"reasoning_content": "a bomb"}], [{"content": "ale"}]]
    with sotto.Engine("cpu", module_dir=SCRIPTED, guardrails={"output": [TOPICS]}) as engine:
        lend(engine)
        for deltas in ([[{"tool_calls": [call]}], []], thought):
            engine.load_model("npc", options={"deltas": deltas})
            answer = json.loads(engine.llm_chat_completion(body("hello")))["choices"][0]
            assert answer["finish_reason"] == "content_filter" and "bomb" not in json.dumps(answer)
            engine.unload_model("npc")


def test_one_model_with_one_slot_speaks_and_judges() -> None:
    with sotto.Engine("cpu", module_dir=SCRIPTED, guardrails={"output": [JUDGE]}) as engine:
        load_judge(engine, says("block"), streams=1)
        request = {"model": "judge", "messages": [{"role": "user", "content": "x"}]}
        answer = json.loads(engine.llm_chat_completion(json.dumps(request)))
        assert answer["choices"][0]["finish_reason"] == "content_filter"


def test_an_output_check_that_fails_or_is_cancelled_ends_the_request() -> None:
    with sotto.Engine("cpu", module_dir=SCRIPTED, guardrails={"output": [JUDGE]}) as engine:
        engine.load_model("npc", options={})
        with pytest.raises(
            sotto.InferenceError, match=r"guardrails\.output\[0\]: model 'judge' is not loaded"
        ):
            engine.chat("hello", model="npc")
        load_judge(engine, says("allow"), token_ms=60_000)
        with engine.session("mara", model="npc") as session:
            stream = session.chat("hello")
            assert json.loads(next(stream))
            while engine.stats().live < 2:
                time.sleep(0.01)
            stream.close()
            while engine.stats().live:
                time.sleep(0.01)
            assert session.messages == []
        many = engine.llm_chat_completion_stream(body("hello", n=3))
        while engine.stats().live < 2:
            time.sleep(0.01)
        many.close()
        while engine.stats().live:
            time.sleep(0.01)
        waiting = engine.llm_chat_completion_stream(body("hello"))
        while engine.stats().live < 2:
            time.sleep(0.01)
        engine.close()
        with pytest.raises(sotto.SottoError):
            list(waiting)


@pytest.mark.real
def test_real_models_check(tmp_path: Path) -> None:
    TinyEncoder(1).write(tmp_path / "encoder.gguf")
    topics = {**TOPICS, "topics": {"kings": ["the king is gold"]}, "threshold": 0.999}
    judge = {**JUDGE, "model": "sotto/house"}
    with sotto.Engine("cpu", guardrails={"input": [topics, judge], "output": [topics]}) as engine:
        engine.load_model("encoder", path=tmp_path / "encoder.gguf")
        engine.load_model("sotto/house")
        found = engine.check("night\nthe king is gold\nsong")
        assert (found.checker_name, found.category) == ("topics", "kings") and found.score is not None
        verdicts = [engine.check("Good evening, innkeeper!") for _ in range(3)]
        assert len(set(verdicts)) == 1 and verdicts[0].checker_name == "judge" and verdicts[0].score is None
        long = {"input": [{**judge, "instruction": "Block insults. " * 1000}]}
        with pytest.raises(sotto.InferenceError, match=r"guardrails\.input\[0\]: .*context"):
            engine.check("hello", guardrails=long)
        with pytest.raises(sotto.InferenceError, match=r"guardrails\.input\[0\]: "):
            engine.check("hello", guardrails={"input": [{**judge, "model": "encoder"}]})
        with pytest.raises(sotto.InferenceError, match=r"guardrails\.input\[0\]: "):
            engine.check("hello", guardrails={"input": [{**topics, "model": "sotto/house"}]})
