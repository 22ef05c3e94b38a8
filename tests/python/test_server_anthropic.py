"""Anthropic's Messages API: by the official client against a server, and its translation alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

import serving
from conftest import SCRIPTED
from sotto.server.anthropic.requests import to_chat
from sotto.server.anthropic.shape import MessageStream
from sotto.server.errors import HttpError

LOOK = {
    "name": "look",
    "description": "Looks at a place.",
    "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
HELLO = [{"role": "user", "content": "Hello"}]
SAID: dict[str, Any] = {"model": "claude", "max_tokens": 12, "messages": HELLO}


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Served]:
    with serving.served() as running:
        yield running


@pytest.fixture
def client(server: serving.Served) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key="unused", base_url=server.url, max_retries=0) as made:
        yield made


@pytest.mark.real
def test_a_message_and_its_stream_say_the_same(client: anthropic.Anthropic) -> None:
    system = [{"type": "text", "text": "You are Brenna."}]
    asked = {**SAID, "system": system, "extra_body": {"temperature": 0}}
    whole = client.messages.create(**asked)
    assert (whole.type, whole.role, whole.model) == ("message", "assistant", "sotto/house")
    assert whole.content[0].type == "text" and whole.content[0].text
    assert whole.stop_reason in ("end_turn", "max_tokens") and whole._request_id.startswith("req_")
    with client.messages.stream(**asked) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_message()
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop"
    assert final.content[0].text == whole.content[0].text
    assert final.stop_reason == whole.stop_reason
    assert final.usage.output_tokens == whole.usage.output_tokens
    told = final.usage.input_tokens + final.usage.cache_read_input_tokens
    assert told == whole.usage.input_tokens + whole.usage.cache_read_input_tokens
    assert final.usage.cache_read_input_tokens > 0  # the second request found the prompt in the cache


@pytest.mark.real
def test_count_tokens_counts_what_a_message_uses(client: anthropic.Anthropic) -> None:
    for asked in (
        {"messages": HELLO},
        {"messages": HELLO, "system": "You are Brenna."},
        {"messages": HELLO, "tools": [LOOK]},
    ):
        counted = client.messages.count_tokens(model="claude", **asked).input_tokens
        usage = client.messages.create(model="claude", max_tokens=1, **asked).usage
        assert counted == usage.input_tokens + usage.cache_read_input_tokens
        assert usage.output_tokens == 1
        first = next(iter(client.messages.create(model="claude", max_tokens=1, stream=True, **asked)))
        assert first.message.usage.input_tokens == counted


@pytest.mark.real
@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "look"}])
def test_a_forced_tool_is_always_called(client: anthropic.Anthropic, choice: dict[str, str]) -> None:
    asked = {**SAID, "max_tokens": 200, "tools": [LOOK], "tool_choice": choice}
    whole = client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        indices = [event.index for event in stream if event.type == "content_block_start"]
        streamed = stream.get_final_message()
    assert indices == list(range(len(indices)))
    for message in (whole, streamed):
        call = message.content[-1]
        assert (message.stop_reason, call.type, call.name) == ("tool_use", "tool_use", "look")
        assert isinstance(call.input["at"], str) and call.id


@pytest.mark.real
def test_a_result_of_a_tool_is_answered(client: anthropic.Anthropic) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "the cellar"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "Dark."}]}
    turns = [
        *HELLO,
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": ""}, call]},
        {"role": "user", "content": [result, {"type": "text", "text": "Well?"}]},
    ]
    answer = client.messages.create(model="claude", max_tokens=12, messages=turns, tools=[LOOK])
    assert answer.content


@pytest.mark.real
def test_a_schema_holds(client: anthropic.Anthropic) -> None:
    schema = {
        "type": "object",
        "properties": {"price": {"type": "integer"}},
        "required": ["price"],
        "additionalProperties": False,
    }
    form = {"format": {"type": "json_schema", "schema": schema}}
    answer = client.messages.create(**{**SAID, "max_tokens": 100}, output_config=form)
    assert isinstance(json.loads(answer.content[0].text)["price"], int)


@pytest.mark.real
def test_a_begun_answer_is_continued(client: anthropic.Anthropic) -> None:
    begun = [*HELLO, {"role": "assistant", "content": "The price is"}]
    answer = client.messages.create(model="claude", max_tokens=8, messages=begun)
    assert not answer.content[0].text.startswith("The price is")


@pytest.mark.real
def test_models_are_listed(client: anthropic.Anthropic) -> None:
    (model,) = client.models.list()
    assert (model.type, model.id, model.max_input_tokens) == ("model", "sotto/house", 2048)
    assert client.models.retrieve("sotto/house") == model and model.created_at.year > 2025
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("none")


@pytest.mark.real
def test_errors_are_those_of_the_client(client: anthropic.Anthropic, server: serving.Served) -> None:
    with pytest.raises(anthropic.BadRequestError, match="max_tokens") as caught:
        client.messages.create(**{**SAID, "max_tokens": -1})
    told = caught.value.body
    assert told["type"] == "error" and told["error"]["type"] == "invalid_request_error"
    assert told["request_id"] == caught.value.request_id
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    with pytest.raises(anthropic.APIStatusError, match="reads text only") as caught:
        client.messages.create(model="x", max_tokens=1, messages=[{"role": "user", "content": [image]}])
    assert caught.value.response.headers["x-should-retry"] == "false"
    status, _, told = server.ask("/v1/messages", b"{")
    assert (status, told["type"], told["error"]["type"]) == (400, "error", "invalid_request_error")
    status, _, told = server.ask("/v1/messages", {"model": "x"})
    assert status == 400 and "messages" in told["error"]["message"]


@pytest.mark.real
def test_a_conversation_without_messages_is_answered(server: serving.Served) -> None:
    status, _, told = server.ask("/v1/messages", {"model": "x", "max_tokens": 2, "messages": []})
    assert status == 200 and told["type"] == "message"


def test_keys_and_limits_in_the_form_of_the_client(tmp_path: Path) -> None:
    script = tmp_path / "npc.json"
    script.write_text(json.dumps({"tokens": ["Hm", "."], "loop": True, "token_ms": 20}))
    more = ("--api-key", "secret", "--max-requests", "1", "--module-dir", str(SCRIPTED))
    with serving.served(*more, model=f"npc={script}") as server:
        wrong = anthropic.Anthropic(api_key="wrong", base_url=server.url, max_retries=0)
        with wrong, pytest.raises(anthropic.AuthenticationError) as caught:
            wrong.messages.create(**SAID)
        assert caught.value.body["error"]["type"] == "authentication_error"
        with anthropic.Anthropic(api_key="secret", base_url=server.url, max_retries=0) as right:
            with right.messages.stream(**{**SAID, "max_tokens": 500}) as stream:
                next(iter(stream.text_stream))
                with pytest.raises(anthropic.RateLimitError):
                    right.messages.create(**SAID)
                patient = right.with_options(max_retries=5)
            assert patient.messages.create(**SAID).usage.output_tokens == 12  # the stream was closed


def test_thinking_text_and_calls_are_blocks_of_a_stream() -> None:
    shape, head = MessageStream(), {"id": "chatcmpl-7", "model": "npc"}
    shape.input_tokens = 5
    calls = [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"at"'}}]
    more = [{"index": 0, "function": {"arguments": ': "sea"}'}}]
    other = [{"index": 1, "id": "c2", "function": {"name": "wait", "arguments": "{}"}}]
    deltas = [
        {"role": "assistant", "reasoning_content": "Hm"},
        {"reasoning_content": "."},
        {"content": "Yes"},
        {"tool_calls": calls},
        {"tool_calls": more},
        {"tool_calls": other},
    ]
    chunks = [{**head, "choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}
    chunks.append({**head, "choices": [], "usage": usage})
    written = "".join(shape.chunk(json.dumps(chunk)) for chunk in chunks) + shape.end()
    lines = written.splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert [f"event: {event['type']}" for event in events] == lines[::3]
    begun = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    assert [block["type"] for block in begun] == ["thinking", "text", "tool_use", "tool_use"]
    assert [event["index"] for event in events if event["type"] == "content_block_stop"] == [0, 1, 2, 3]
    said = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    parts = [delta["partial_json"] for delta in said if delta["type"] == "input_json_delta"]
    assert parts == ['{"at"', ': "sea"}', "{}"]
    assert said[2] == {"type": "signature_delta", "signature": ""}
    assert events[0]["message"]["usage"]["input_tokens"] == 5
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"]["input_tokens"] == 3 and events[-2]["usage"]["cache_read_input_tokens"] == 6


def test_a_request_is_translated() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    chat = to_chat(
        {
            "system": "x-anthropic-billing-header: v=1; cch=a5145;Be kind.",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "See"}, image]}],
            "tools": [LOOK],
            "tool_choice": {"type": "tool", "name": "look", "disable_parallel_tool_use": True},
            "thinking": {"type": "enabled", "budget_tokens": 50},
            "stop_sequences": ["END"],
            "metadata": {"user_id": "u"},
            "service_tier": "auto",
            "seed": 7,
        }
    )
    assert chat["messages"][0]["content"] == "x-anthropic-billing-header: v=1; cch=fffff;Be kind."
    url = chat["messages"][1]["content"][1]["image_url"]["url"]
    assert url == "data:image/png;base64,AAAA"
    assert chat["tools"][0]["function"]["parameters"] == LOOK["input_schema"]
    assert chat["tool_choice"] == {"type": "function", "function": {"name": "look"}}
    assert chat["parallel_tool_calls"] is False and chat["reasoning_budget_tokens"] == 50
    assert (chat["stop"], chat["seed"], chat["max_tokens"]) == (["END"], 7, 4096)
    assert not {"metadata", "service_tier", "system", "thinking"} & set(chat)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"messages": "Hello"}, "messages"),
        ({"messages": [7]}, r"messages\[0\]"),
        ({"messages": [{"role": "bob", "content": "x"}]}, r"messages\[0\].role 'bob'"),
        ({"messages": [{"role": "user", "content": 7}]}, r"messages\[0\].content"),
        ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, r"content\[0\].type 'audio'"),
        ({"messages": [{"role": "assistant", "content": [{"type": "image"}]}]}, r"content\[0\].type"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}]},
            "fetches no files",
        ),
        ({"messages": HELLO, "system": 7}, "system"),
        ({"messages": HELLO, "tools": [{"name": "x"}]}, r"tools\[0\].input_schema"),
        ({"messages": HELLO, "tools": [{"type": "bash_20250124", "name": "bash"}]}, r"tools\[0\].type"),
        ({"messages": HELLO, "tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"messages": HELLO, "tool_choice": {"type": "tool"}}, "tool_choice.name"),
        ({"messages": HELLO, "thinking": {"type": "enabled", "budget_tokens": -1}}, "budget_tokens"),
        ({"messages": HELLO, "stop_sequences": "END"}, "stop_sequences"),
        ({"messages": HELLO, "metadata": 7}, "metadata"),
        ({"messages": HELLO, "n": 3}, "n '3'"),
        ({"messages": HELLO, "mcp_servers": [{}]}, "mcp_servers"),
        ({"messages": HELLO, "output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
    ],
)
def test_an_invalid_request_is_refused_by_its_path(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(HttpError, match=named) as caught:
        to_chat(fields)
    assert caught.value.status == 400


@pytest.mark.real
def test_a_stop_sequence_is_named(client: anthropic.Anthropic) -> None:
    asked = {**SAID, "max_tokens": 40, "stop_sequences": ["END", " "], "extra_body": {"temperature": 0}}
    whole = client.messages.create(**asked)
    assert (whole.stop_reason, whole.stop_sequence) == ("stop_sequence", " ")
    assert " " not in whole.content[0].text
    with client.messages.stream(**asked) as stream:
        final = stream.get_final_message()
    assert (final.stop_reason, final.stop_sequence) == ("stop_sequence", " ")
