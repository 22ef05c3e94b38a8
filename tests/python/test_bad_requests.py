"""What is wrong with a request, in a ValueError that names the parameter and the value."""

from __future__ import annotations

import json
from typing import Any

import pytest

import sotto
from talk import chat, prompt

MESSAGE = {"role": "user", "content": "hi"}

ANY = [  # in chat and text requests alike
    ("{", "invalid request: expected JSON; "),
    ("", "invalid request: expected JSON; "),
    ("\0", "invalid request: expected JSON; "),
    ('{"model": "npc"', "invalid request: expected JSON; "),
    ("nonsense", "invalid request: expected JSON; "),
    ("[]", r"invalid request '\[\]': expected a JSON object"),
    ('"text"', "invalid request 'text': expected a JSON object"),
    ("null", "invalid request 'null': expected a JSON object"),
    ("{}", "missing model: expected the id of a loaded model"),
]

FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"model": None}, "missing model: "),
    ({"model": ""}, "invalid model ''"),
    ({"model": 7}, "invalid model '7'"),
    ({"max_tokens": 0}, "invalid max_tokens '0': expected an integer from 1"),
    ({"max_tokens": -1}, "invalid max_tokens '-1': expected an integer from 1"),
    ({"max_tokens": 1.5}, "invalid max_tokens '1.5': expected an integer"),
    ({"max_tokens": "ten"}, "invalid max_tokens 'ten': expected an integer"),
    ({"max_tokens": 1 << 70}, "invalid max_tokens '1.18"),
    ({"max_completion_tokens": 0}, "invalid max_completion_tokens '0'"),
    ({"temperature": -0.1}, "invalid temperature '-0.1': expected a number from 0"),
    ({"temperature": "hot"}, "invalid temperature 'hot'"),
    ({"temperature": True}, "invalid temperature 'true'"),
    ({"top_p": 1.5}, "invalid top_p '1.5': expected a number from 0"),
    ({"top_p": [1]}, r"invalid top_p '\[\.\.\.\]'"),
    ({"min_p": -1}, "invalid min_p '-1'"),
    ({"top_k": -3}, "invalid top_k '-3': expected an integer from 0"),
    ({"seed": "lucky"}, "invalid seed 'lucky'"),
    ({"seed": -2}, "invalid seed '-2'"),
    ({"stop": ""}, "invalid stop '': expected strings of 1 to"),
    ({"stop": ["a", ""]}, "invalid stop ''"),
    ({"stop": [1]}, "invalid stop '1'"),
    ({"stop": ["a"] * 17}, r"invalid stop '\[\.\.\.\]': expected at most 16 strings"),
    ({"stop": "x" * 1025}, "invalid stop 'xxx"),
    ({"stream": "yes"}, "invalid stream 'yes': expected true or false"),
    ({"stream_options": 1}, "invalid stream_options '1': expected a JSON object"),
    ({"stream_options": {"include_usage": 1}}, "invalid stream_options.include_usage '1'"),
    ({"n": 0}, "invalid n '0'"),
]

MESSAGES: list[tuple[Any, str]] = [
    (None, "missing messages: expected an array of messages"),
    ([], r"invalid messages '\[\]': expected an array with at least one message"),
    ("hi", "invalid messages 'hi'"),
    ([7], r"invalid messages\[0\] '7': expected a JSON object"),
    ([MESSAGE, {}], r"missing messages\[1\].role: expected system"),
    ([{"role": "wizard", "content": "x"}], r"invalid messages\[0\].role .wizard.: expected system"),
    ([{"role": 1, "content": "x"}], r"invalid messages\[0\].role '1'"),
    ([{"role": "user"}], r"missing messages\[0\].content: "),
    ([{"role": "user", "content": 5}], r"invalid messages\[0\].content '5'"),
    ([{"role": "user", "content": []}], r"invalid messages\[0\].content '\[\]'"),
    ([{"role": "user", "content": [{"type": "text"}]}], r"missing messages\[0\].content\[0\].text: "),
    ([{"role": "user", "content": [{"text": "a"}]}], r"missing messages\[0\].content\[0\].type: "),
    (
        [{"role": "user", "content": [{"type": "image_url"}]}],
        r"missing messages\[0\].content\[0\].image_url: expected a JSON object",
    ),
]

PROMPTS: list[tuple[Any, str]] = [
    (None, "missing prompt: expected a string"),
    ("", "invalid prompt '': expected a string that is not empty"),
    (7, "invalid prompt '7'"),
    (["a"], r"invalid prompt\[0\] .a.: expected a token"),
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
    _refused(npc, *request, f"{name}: backend 'scripted' does not support ", -2)


@pytest.mark.row("A-078")
@pytest.mark.parametrize("value", [None, 7, b"{}", ["{}"], object()])
def test_a_request_is_a_str(npc: sotto.Engine, value: Any) -> None:
    with pytest.raises(
        TypeError, match=f"invalid request_json .*: expected a str of JSON, not {type(value).__name__}"
    ):
        npc.llm_chat_completion(value)
    with pytest.raises(TypeError, match=r"invalid request .*: expected a str of JSON"):
        npc.submit("chat", value)


def test_a_lone_surrogate(npc: sotto.Engine) -> None:
    with pytest.raises(ValueError, match="invalid request_json: expected Unicode text"):
        npc.llm_chat_completion('{"model": "\ud800"}')
    with pytest.raises(ValueError, match="invalid request: expected JSON; "):
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
    assert event.error.startswith("missing model: ")
