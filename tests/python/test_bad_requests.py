"""What is wrong with a request, in a ValueError that names the parameter and the value."""

from __future__ import annotations

import json
from typing import Any

import pytest

import sotto
from talk import chat, prompt

MESSAGE = {"role": "user", "content": "hi"}

ANY = [  # in chat and text requests alike
    ("{", "is not JSON"),
    ("", "is not JSON"),
    ("\0", "is not JSON"),
    ('{"model": "npc"', "is not JSON"),
    ("nonsense", "is not JSON"),
    ("[]", "the request is an empty array; it must be a JSON object"),
    ('"text"', 'the request is "text"; it must be a JSON object'),
    ("null", "the request is null"),
    ("{}", "model is missing"),
]

FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"model": None}, "model is missing"),
    ({"model": ""}, 'model is ""'),
    ({"model": 7}, "model is 7"),
    ({"max_tokens": 0}, "max_tokens is 0; it must be an integer from 1"),
    ({"max_tokens": -1}, "max_tokens is -1; it must be an integer from 1"),
    ({"max_tokens": 1.5}, "max_tokens is 1.5; it must be an integer"),
    ({"max_tokens": "ten"}, 'max_tokens is "ten"; it must be an integer'),
    ({"max_tokens": 1 << 70}, "max_tokens is "),
    ({"max_completion_tokens": 0}, "max_completion_tokens is 0"),
    ({"temperature": -0.1}, "temperature is -0.1; it must be a number from 0"),
    ({"temperature": "hot"}, 'temperature is "hot"'),
    ({"temperature": True}, "temperature is true"),
    ({"top_p": 1.5}, "top_p is 1.5; it must be a number from 0"),
    ({"top_p": [1]}, "top_p is a JSON array"),
    ({"min_p": -1}, "min_p is -1"),
    ({"top_k": -3}, "top_k is -3; it must be an integer from 0"),
    ({"seed": "lucky"}, 'seed is "lucky"'),
    ({"seed": -2}, "seed is -2"),
    ({"stop": ""}, 'stop is ""; it must be strings of 1 to'),
    ({"stop": ["a", ""]}, 'stop is ""'),
    ({"stop": [1]}, "stop is 1"),
    ({"stop": ["a"] * 17}, "stop is a JSON array; it must be at most 16 strings"),
    ({"stop": "x" * 1025}, 'stop is "xxx'),
    ({"stream": "yes"}, 'stream is "yes"; it must be true or false'),
    ({"stream_options": 1}, "stream_options is 1; it must be a JSON object"),
    ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage is 1"),
    ({"n": 0}, "n is 0"),
]

MESSAGES: list[tuple[Any, str]] = [
    (None, "messages is missing"),
    ([], "messages is an empty array; it must be an array with at least one message"),
    ("hi", 'messages is "hi"'),
    ([7], r"messages\[0\] is 7; it must be a JSON object"),
    ([MESSAGE, {}], r"messages\[1\].role is missing"),
    ([{"role": "wizard", "content": "x"}], r'messages\[0\].role is "wizard"; it must be system'),
    ([{"role": 1, "content": "x"}], r"messages\[0\].role is 1"),
    ([{"role": "user"}], r"messages\[0\].content is missing"),
    ([{"role": "user", "content": 5}], r"messages\[0\].content is 5"),
    ([{"role": "user", "content": []}], r"messages\[0\].content is an empty array"),
    ([{"role": "user", "content": [{"type": "text"}]}], r"messages\[0\].content\[0\].text is missing"),
    ([{"role": "user", "content": [{"text": "a"}]}], r"messages\[0\].content\[0\].type is missing"),
    (
        [{"role": "user", "content": [{"type": "image_url"}]}],
        r"content\[0\].image_url is missing; it must be a JSON object",
    ),
]

PROMPTS: list[tuple[Any, str]] = [
    (None, "prompt is missing"),
    ("", 'prompt is ""; it must be a string that is not empty'),
    (7, "prompt is 7"),
    (["a"], r'prompt\[0\] is "a"; it must be a token'),
]

UNSUPPORTED: list[dict[str, Any]] = [
    {"response_format": {"type": "json_object"}},
    {"tools": [{"type": "function", "function": {"name": "a"}}]},
    {"logprobs": 1},
    {"grammar": "root ::= x"},
]


def _refused(npc: sotto.Engine, op: str, request: Any, said: str, status: int = -1) -> None:
    """A blocking call and a stream both raise at the call, and the engine goes on."""
    for call in (f"llm_{op}_completion", f"llm_{op}_completion_stream"):
        with pytest.raises(ValueError, match=said) as caught:
            getattr(npc, call)(request)
        assert getattr(caught.value, "status", None) == status and "\n" not in str(caught.value)
    assert npc.llm_chat_completion(chat())


@pytest.mark.row("A-078", "A-095", "A-239")
@pytest.mark.parametrize(("request_json", "said"), ANY)
@pytest.mark.parametrize("op", ["chat", "text"])
def test_what_is_no_request(npc: sotto.Engine, op: str, request_json: str, said: str) -> None:
    _refused(npc, op, request_json, said)


@pytest.mark.row("A-064", "A-066", "A-078", "A-084", "A-095")
@pytest.mark.parametrize(("fields", "said"), FIELDS, ids=lambda value: json.dumps(value)[:40])
@pytest.mark.parametrize("op", ["chat", "text"])
def test_bad_fields(npc: sotto.Engine, op: str, fields: dict[str, Any], said: str) -> None:
    whole = {"messages": [MESSAGE]} if op == "chat" else {"prompt": "hi"}
    _refused(npc, op, json.dumps({"model": "npc", **whole, **fields}), said)


@pytest.mark.row("A-065", "A-078")
@pytest.mark.parametrize(("messages", "said"), MESSAGES, ids=lambda value: json.dumps(value)[:40])
def test_bad_messages(npc: sotto.Engine, messages: Any, said: str) -> None:
    _refused(npc, "chat", json.dumps({"model": "npc", "messages": messages}), said)


@pytest.mark.row("A-085", "A-095")
@pytest.mark.parametrize(("text", "said"), PROMPTS)
def test_bad_prompts(npc: sotto.Engine, text: Any, said: str) -> None:
    _refused(npc, "text", json.dumps({"model": "npc", "prompt": text}), said)


@pytest.mark.parametrize("fields", UNSUPPORTED, ids=lambda fields: next(iter(fields)))
def test_what_the_backend_cannot_do_is_said(npc: sotto.Engine, fields: dict[str, Any]) -> None:
    name = next(iter(fields))
    request = ("text", prompt(**fields)) if name == "logprobs" else ("chat", chat(**fields))
    _refused(npc, *request, f"{name} .* this model's backend", -2)


@pytest.mark.row("A-078")
@pytest.mark.parametrize("value", [None, 7, b"{}", ["{}"], object()])
def test_a_request_is_a_str(npc: sotto.Engine, value: Any) -> None:
    with pytest.raises(
        TypeError, match=f"request_json is a {type(value).__name__}; it must be a str of JSON"
    ):
        npc.llm_chat_completion(value)
    with pytest.raises(TypeError, match="request is a"):
        npc.submit("chat", value)


def test_a_lone_surrogate(npc: sotto.Engine) -> None:
    with pytest.raises(ValueError, match="request_json is no Unicode text"):
        npc.llm_chat_completion('{"model": "\ud800"}')
    with pytest.raises(ValueError, match="is not JSON"):
        npc.llm_chat_completion(
            json.dumps({"model": "npc", "messages": [{"role": "user", "content": "\ud800"}]})
        )


def test_nul_in_text_is_text(npc: sotto.Engine) -> None:
    assert json.loads(npc.llm_chat_completion(chat("a\0b c")))["choices"][0]["message"]["content"] == "a\0b c"


def test_numbers_that_json_has_not_are_named_by_their_field(npc: sotto.Engine) -> None:
    for value in (float("nan"), float("inf")):
        expected = f"invalid request_json.temperature '{value}': expected a finite number"
        with pytest.raises(ValueError, match=expected):
            npc.llm_chat_completion(json.loads(chat()) | {"temperature": value})
        with pytest.raises(sotto.ArgumentError, match=r"invalid options.tokens\[1\] "):
            npc.load_model("other", options={"tokens": ["a", value]})


def test_deeply_nested_json_is_refused_or_read(npc: sotto.Engine) -> None:
    with pytest.raises(ValueError):
        npc.llm_chat_completion("[" * 100_000)
    assert npc.llm_chat_completion(chat())


@pytest.mark.row("A-078")
def test_bad_requests_of_the_frame_api_are_told_by_events(npc: sotto.Engine) -> None:
    request = npc.submit("chat", "{}", user=3)
    assert npc.wait(5)
    (event,) = npc.events()
    assert (event.kind, event.request, event.user, event.status) == ("request_done", request, 3, -1)
    assert event.error.startswith("model is missing")
