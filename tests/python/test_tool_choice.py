"""A `tool_choice` that requires a call gets one: of every model, whatever its template knows of tools."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest

import sotto
from test_forms import choices

pytestmark = pytest.mark.real

REQUESTS = 50
SHORT = ("tiny", "twin", "window", "recurrent", "hybrid")
LINES = ["Hello!", "who guards?", "Tell me.", '{"a": 1}', "夜の門", "2+2"]
TOOLS: dict[str, dict[str, Any]] = {
    "open_door": {
        "type": "object",
        "properties": {"door": {"type": "string"}, "wide": {"type": "boolean"}},
        "required": ["door"],
        "additionalProperties": False,
    },
    "give": {
        "type": "object",
        "properties": {
            "item": {"enum": ["sword", "gold"]},
            "count": {"type": "integer", "minimum": 1, "maximum": 99},
            "to": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": ["item", "count"],
        "additionalProperties": False,
    },
    "wait": {"type": "object", "properties": {}, "additionalProperties": False},
}


def request(model: str, number: int, **fields: Any) -> dict[str, Any]:
    """A random request that requires a call; every second one of a tool by name."""
    some = random.Random(number)
    # models whose vocabulary is bytes, with a short context, get one tool at a time
    names = [some.choice(["open_door", "wait"])] if model in SHORT else list(TOOLS)
    named = {"type": "function", "function": {"name": some.choice(names)}}
    return {
        "model": model,
        "messages": [{"role": "user", "content": some.choice(LINES)}],
        "tools": [
            {"type": "function", "function": {"name": name, "description": "A tool.", "parameters": schema}}
            for name, schema in TOOLS.items()
            if name in names
        ],
        "tool_choice": named if number % 2 else "required",
        "max_tokens": some.choice([80, 100]) if model in SHORT else some.choice([150, 300]),
        "seed": number,
        **fields,
    }


def check_calls(asked: dict[str, Any], calls: list[dict[str, Any]]) -> None:
    """Of tools that may be called, with arguments as their schema has them."""
    wanted = asked["tool_choice"]
    for call in calls:
        assert call["name"] in (TOOLS if wanted == "required" else [wanted["function"]["name"]])
        jsonschema.Draft202012Validator(TOOLS[call["name"]]).validate(json.loads(call["arguments"]))


def check_called(engine: sotto.Engine, asked: dict[str, Any]) -> None:
    """That the answer is a call and nothing else."""
    (choice,) = json.loads(engine.llm_chat_completion(asked))["choices"]
    message = choice["message"]
    assert choice["finish_reason"] == "tool_calls", choice
    assert message["tool_calls"] and not (message["content"] or "").strip(), choice
    check_calls(asked, [call["function"] for call in message["tool_calls"]])


@pytest.mark.row("A-070")
def test_the_house_model_always_calls(real_engine: sotto.Engine) -> None:
    for number in range(REQUESTS):
        check_called(real_engine, request("sotto/house", number))


@pytest.mark.row("A-070")
@pytest.mark.parametrize("model", ["tiny", "twin", "tools", "window", "recurrent", "hybrid"])
def test_models_of_random_weights_always_call(tiny: sotto.Engine, model: str) -> None:
    for number in range(REQUESTS):
        check_called(tiny, request(model, number, temperature=[0, 1, 1.5][number % 3]))


@pytest.mark.row("A-070")
def test_a_model_that_does_not_think_first_always_calls(tiny: sotto.Engine) -> None:
    for number in range(REQUESTS):
        check_called(tiny, request("tools", number, chat_template_kwargs={"enable_thinking": False}))


@pytest.mark.row("A-070")
@pytest.mark.parametrize("model", ["tiny", "tools"])
def test_a_stream_has_the_same_call(tiny: sotto.Engine, model: str) -> None:
    for number in range(6):
        asked = request(model, number, temperature=0, cache_prompt=False)
        (said,) = json.loads(tiny.llm_chat_completion(asked))["choices"]
        (streamed,) = choices(tiny.llm_chat_completion_stream(asked))
        assert streamed["calls"] == [call["function"] for call in said["message"]["tool_calls"]]
        assert streamed["reason"] == "tool_calls" and not streamed["content"].strip()


@pytest.mark.row("A-070")
def test_too_few_tokens_for_a_call_end_by_length(tiny: sotto.Engine) -> None:
    for model in ("tiny", "tools"):
        for limit in (1, 2, 5, 9):
            asked = request(model, 3, max_tokens=limit)
            (choice,) = json.loads(tiny.llm_chat_completion(asked))["choices"]
            assert choice["finish_reason"] == "length" and not choice["message"].get("tool_calls")


def test_a_model_without_tools_is_told_of_them(tiny: sotto.Engine) -> None:
    for system in ([], [{"role": "system", "content": "You guard the gate."}]):
        asked = request("tiny", 0)
        messages = [*system, *asked["messages"]]
        prompt = json.loads(tiny.apply_template({**asked, "messages": messages}))["prompt"]
        name = asked["tools"][0]["function"]["name"]
        assert prompt.count(f'- {{"name": "{name}"') == 1 and prompt.count("<|im_start|>system") == 1
        assert (system == []) or "You guard the gate." in prompt
        auto = json.loads(tiny.apply_template({"model": "tiny", "messages": messages}))["prompt"]
        assert name not in auto
