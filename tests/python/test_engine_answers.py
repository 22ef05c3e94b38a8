"""`engine`: answers that are waited for."""

from __future__ import annotations

import inspect
import json
import time
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sotto
from talk import CHAT, TEXT, Ticks, chat, content, prompt

FAILING = {"tokens": ["a", "b", "c", "d"], "fail_at": 3}


@pytest.mark.row("A-063", "A-082")
@pytest.mark.parametrize("name", ["llm_chat_completion", "llm_text_completion"])
def test_signatures(name: str) -> None:
    signature = inspect.signature(getattr(sotto.Engine, name))
    assert list(signature.parameters) == ["self", "request_json", "terms"]
    assert signature.parameters["terms"].kind is inspect.Parameter.VAR_KEYWORD
    assert signature.return_annotation == "str"


@pytest.mark.row("A-063", "A-065", "A-071", "A-072", "A-073", "A-074", "A-075", "A-076", "A-077")
def test_a_chat_completion(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["Hel", "lo", " ☃"], "prompt_tokens": 7})
    messages = [{"role": "system", "content": "You guard."}, {"role": "user", "content": "Hi"}]
    response = json.loads(engine.llm_chat_completion(json.dumps({"model": "npc", "messages": messages})))
    jsonschema.validate(response, CHAT)
    (choice,) = response["choices"]
    assert choice["message"] == {"role": "assistant", "content": "Hello ☃"}
    assert choice["finish_reason"] == "stop" and response["model"] == "npc"
    usage = response["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (7, 3, 10)


@pytest.mark.row("A-080")
def test_the_references_chat_example(engine: sotto.Engine) -> None:
    engine.load_model("meta-llama/Llama-3.2-1B-Instruct-GGUF", path="/any", options={})
    request = json.dumps(
        {
            "model": "meta-llama/Llama-3.2-1B-Instruct-GGUF",
            "messages": [{"role": "user", "content": "Hello!"}],
            "max_tokens": 128,
        }
    )
    response = json.loads(engine.llm_chat_completion(request))
    assert response["choices"][0]["message"]["content"] == "Hello!"


@pytest.mark.row("A-065", "A-066", "A-067", "A-068", "A-069", "A-070")
def test_the_references_request_shape(npc: sotto.Engine) -> None:
    request = {
        "model": "npc",
        "messages": [
            {"role": "system", "content": "You are helpful."},
            {"role": "user", "content": "Hello!"},
        ],
        "max_tokens": 128,
        "temperature": 0.7,
        "top_p": 0.9,
        "response_format": None,
    }
    assert content(npc.llm_chat_completion(json.dumps(request))) == "Hello!"
    assert content(npc.llm_chat_completion(request)) == "Hello!"


@pytest.mark.row("A-070")
@pytest.mark.parametrize(
    "fields",
    [
        {"wings": 2},
        {"seed": 7, "stop": ["x"], "n": 1, "tools": [], "logprobs": False, "user": "me"},
        {"stream": False},
        {"response_format": {"type": "text"}, "stop": None, "max_completion_tokens": 9},
    ],
)
def test_other_openai_fields_are_taken(npc: sotto.Engine, fields: dict[str, Any]) -> None:
    assert content(npc.llm_chat_completion(chat("a b c", **fields))) == "a b c"


@pytest.mark.row("A-065")
@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "tool"])
def test_roles_and_text_parts(npc: sotto.Engine, role: str) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b c"}]
    request = {"model": "npc", "messages": [{"role": role, "content": parts}]}
    assert content(npc.llm_chat_completion(request)) == "b c"


@pytest.mark.row("A-066", "A-074", "A-086", "A-093")
def test_max_tokens_cuts_with_length(npc: sotto.Engine) -> None:
    spoken = json.loads(npc.llm_chat_completion(chat("a b c d", max_tokens=2)))
    assert spoken["choices"][0]["finish_reason"] == "length" and spoken["usage"]["completion_tokens"] == 2
    assert content(json.dumps(spoken)) == "a b"
    written = json.loads(npc.llm_text_completion(prompt("a b c d", max_tokens=3)))
    assert written["choices"][0]["finish_reason"] == "length" and written["usage"]["completion_tokens"] == 3
    whole = json.loads(npc.llm_text_completion(prompt("a b", max_tokens=50)))
    assert whole["choices"][0]["finish_reason"] == "stop"


@pytest.mark.row("A-070")
@pytest.mark.parametrize(("stop", "said"), [("ok", "l"), (["zz", " d"], "look"), ("nothing", "look down")])
def test_stop_sequences_across_tokens(engine: sotto.Engine, stop: Any, said: str) -> None:
    engine.load_model("npc", options={"tokens": ["lo", "ok", " do", "wn"]})
    response = engine.llm_chat_completion(chat(stop=stop))
    assert content(response) == ("lo" if stop == "ok" else said)
    assert json.loads(response)["choices"][0]["finish_reason"] == "stop"


@pytest.mark.row(*(f"A-{row:03}" for row in (82, 84, 85, 88, 89, 90, 91, 92, 93, 94)))
def test_a_text_completion(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": [" there", " was"], "prompt_tokens": 4})
    response = json.loads(engine.llm_text_completion(prompt("Once upon a time")))
    jsonschema.validate(response, TEXT)
    (choice,) = response["choices"]
    assert (choice["text"], choice["index"], choice["finish_reason"]) == (" there was", 0, "stop")
    assert response["model"] == "npc" and response["object"] == "text_completion"
    usage = response["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"] == 6


@pytest.mark.row("A-087", "A-097")
def test_the_references_text_example(npc: sotto.Engine) -> None:
    request = json.dumps({"model": "npc", "prompt": "Once upon a time", "max_tokens": 50, "temperature": 0.7})
    response = json.loads(npc.llm_text_completion(request))
    assert response["choices"][0]["text"] == "Once upon a time"


@pytest.mark.row("A-064", "A-084")
@pytest.mark.parametrize("call", ["llm_chat_completion", "llm_text_completion"])
def test_a_model_that_is_not_loaded_is_named(npc: sotto.Engine, call: str) -> None:
    request = chat(model="ghost") if "chat" in call else prompt(model="ghost")
    with pytest.raises(sotto.InferenceError, match="model 'ghost' is not loaded: load it first") as caught:
        getattr(npc, call)(request)
    assert caught.value.status == -7


@pytest.mark.row("A-079", "A-096")
@pytest.mark.parametrize(
    ("script", "said"),
    [
        (FAILING, "the script fails at token 3"),
        ({"tokens": ["a"], "fail_step": 0}, "the script fails the step at token 0"),
        ({"fail_open": "no room for the prompt"}, "no room for the prompt"),
    ],
)
def test_a_model_that_fails(engine: sotto.Engine, script: dict[str, Any], said: str) -> None:
    engine.load_model("npc", options=script)
    for call in (
        lambda: engine.llm_chat_completion(chat()),
        lambda: engine.llm_text_completion(prompt()),
    ):
        with pytest.raises(sotto.InferenceError, match=said) as caught:
            call()
        assert caught.value.status == -9
    assert engine.model_is_loaded("npc")


def test_a_model_that_is_unloaded_meanwhile(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["a"], "loop": True, "token_ms": 5})
    stream = engine.llm_chat_completion_stream(chat())
    next(stream)
    engine.unload_model("npc")
    with pytest.raises(sotto.InferenceError, match="the model was unloaded") as caught:
        list(stream)
    assert caught.value.status == -10


@pytest.mark.row("A-081")
@pytest.mark.parametrize("call", ["llm_chat_completion", "llm_text_completion"])
def test_waiting_lets_others_run(engine: sotto.Engine, call: str) -> None:
    engine.load_model("npc", options={"tokens": ["a", "b"], "token_ms": 150})
    with Ticks() as ticks:
        getattr(engine, call)(chat() if "chat" in call else prompt())
    assert ticks.count > 50


def test_answers_do_not_wait_for_slices(npc: sotto.Engine) -> None:
    began = time.monotonic()
    for _ in range(50):
        npc.llm_chat_completion(chat("a"))
    assert time.monotonic() - began < 2.5


def test_a_prompt_of_a_megabyte(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"step_tokens": 100_000})
    long = " ".join(f"w{number:07}" for number in range(120_000))
    assert len(long) > 1 << 20
    response = json.loads(engine.llm_chat_completion(chat(long, max_tokens=2)))
    assert response["usage"]["prompt_tokens"] == 120_000
    assert response["choices"][0]["message"]["content"] == "w0000000 w0000001"


@given(st.lists(st.text("abcß狼🐺\"\\/'{}[]:,é\u200b", min_size=1), min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_text_comes_back(npc: sotto.Engine, words: list[str]) -> None:
    assert content(npc.llm_chat_completion(chat(" ".join(words)))) == " ".join(words)
    text = json.loads(npc.llm_text_completion({"model": "npc", "prompt": " ".join(words)}))
    assert text["choices"][0]["text"] == " ".join(words)


def test_characters_cut_by_tokens_come_whole(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"hex": ["e298", "83", "f09f", "90ba", "ff41"]})
    assert content(engine.llm_chat_completion(chat())) == "☃🐺\ufffdA"
