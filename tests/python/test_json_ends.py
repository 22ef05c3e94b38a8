"""Answers in JSON end, whatever the model would say; and log probabilities keep the bytes of their tokens."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import sotto

pytestmark = pytest.mark.real

ASK = [{"role": "user", "content": "Who are you?"}]
SHEET = {"role": "system", "content": "Name: Brenna\nRole: innkeeper"}
ENDS = ("stop", "length")  # by itself, or closed because its limit was near
ITEM = {"type": "object", "required": ["n"], "properties": {"n": {"type": "number"}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "say": {"type": "string"},
        "mood": {"enum": ["happy", "sad"]},
        "items": {"type": "array", "items": ITEM},
    },
    "required": ["say", "mood"],
    "additionalProperties": False,
}


def _answer(engine: sotto.Engine, model: str, **fields: Any) -> tuple[str, Any]:
    """Why an answer ended, and what it holds."""
    response = json.loads(engine.llm_chat_completion({"model": model, "messages": ASK, **fields}))
    (choice,) = response["choices"]
    if "max_tokens" in fields:
        assert response["usage"]["completion_tokens"] <= fields["max_tokens"]
    return choice["finish_reason"], json.loads(choice["message"]["content"])


@pytest.mark.parametrize("max_tokens", [24, 40, 90, 300])
def test_a_json_object_of_the_house_model_always_ends(real_engine: sotto.Engine, max_tokens: int) -> None:
    form = {"response_format": {"type": "json_object"}, "max_tokens": max_tokens}
    for seed in range(6):
        for messages in (ASK, [SHEET, *ASK]):
            reason, value = _answer(real_engine, "sotto/house", **form, messages=messages, seed=seed)
            assert reason in ENDS and isinstance(value, dict)


def test_a_json_object_ends_where_the_context_does(open_house: Any) -> None:
    engine = open_house()
    engine.load_model("sotto/house", options={"context": 256, "parallel": 1})
    for overflow in ("truncate", "shift", "error"):
        for seed in (2, 4):  # which never end by themselves
            form = {"response_format": {"type": "json_object"}, "context_overflow": overflow}
            reason, value = _answer(engine, "sotto/house", **form, seed=seed)
            assert reason in ENDS and isinstance(value, dict)


@pytest.mark.parametrize("model", ["tiny", "twin", "window", "hybrid"])
def test_any_json_of_a_model_that_babbles_ends(tiny: sotto.Engine, model: str) -> None:
    forms: list[dict[str, Any]] = [
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": True}}},
        {"json_schema": {"type": "array", "items": {"type": "string"}}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}},
    ]
    for form in forms:
        for seed in range(5):
            reason, value = _answer(tiny, model, **form, max_tokens=80, seed=seed, repeat_penalty=1.5)
            assert reason in ENDS
            if form is forms[-1]:
                jsonschema.validate(value, SCHEMA)


def test_an_answer_that_ends_by_itself_is_left_as_it_is(real_engine: sotto.Engine) -> None:
    form = {"response_format": {"type": "json_object"}, "temperature": 0}
    first = _answer(real_engine, "sotto/house", **form, max_tokens=120)
    assert first == _answer(real_engine, "sotto/house", **form, max_tokens=1000)
    assert first[0] == "stop" and first[1]["say"]


def test_an_answer_that_its_limit_closed_says_so(real_engine: sotto.Engine) -> None:
    form = {"response_format": {"type": "json_object"}, "temperature": 0}
    whole = _answer(real_engine, "sotto/house", **form, max_tokens=120)
    cut = _answer(real_engine, "sotto/house", **form, max_tokens=24)
    assert (whole[0], cut[0]) == ("stop", "length") and cut[1] != whole[1]


def test_log_probabilities_of_bytes_keep_them_apart(tiny: sotto.Engine) -> None:
    request = {"model": "tiny", "prompt": "the", "logprobs": 20, "max_tokens": 30, "seed": 1}
    response = json.loads(tiny.llm_text_completion(request))
    told = response["choices"][0]["logprobs"]
    assert all(len(likeliest) >= 18 for likeliest in told["top_logprobs"])  # some tokens read the same
    keys = {key for likeliest in told["top_logprobs"] for key in likeliest}
    assert any(key.startswith("bytes:\\x") for key in keys)
    assert not any("\ufffd" in key for key in [*keys, *told["tokens"]])
    said = b"".join(
        bytes.fromhex(one.removeprefix("bytes:").replace("\\x", ""))
        if one.startswith("bytes:")
        else one.encode()
        for one in told["tokens"]
    )
    assert said.decode(errors="replace") == response["choices"][0]["text"]


def test_log_probabilities_of_a_chat_have_their_bytes(tiny: sotto.Engine) -> None:
    request = {
        "model": "tiny",
        "messages": ASK,
        "logprobs": True,
        "top_logprobs": 20,
        "max_tokens": 30,
        "seed": 1,
    }
    (choice,) = json.loads(tiny.llm_chat_completion(request))["choices"]
    entries = choice["logprobs"]["content"]
    assert (
        b"".join(bytes(one["bytes"]) for one in entries).decode(errors="replace")
        == choice["message"]["content"]
    )
    for one in entries:
        assert len(one["top_logprobs"]) == 20 and all(other["bytes"] for other in one["top_logprobs"])
