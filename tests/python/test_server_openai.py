"""OpenAI's API by its official client: chats, tools, schemas, completions, embeddings, responses, errors."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import serving
from conftest import SCRIPTED
from tiny_encoder import TinyEncoder

HELLO: Any = [{"role": "user", "content": "Hello"}]
SAID: dict[str, Any] = {"model": "sotto/house", "messages": HELLO, "max_tokens": 12, "temperature": 0}
PLACES = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
LOOK: Any = {"type": "function", "function": {"name": "look", "parameters": PLACES}}
WAIT: Any = {"type": "function", "function": {"name": "wait", "parameters": {"type": "object"}}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[serving.Served]:
    encoder = tmp_path_factory.mktemp("encoder") / "encoder.gguf"
    TinyEncoder(7).write(encoder)
    with serving.served(f"encoder={encoder}") as running:
        yield running


@pytest.fixture
def client(server: serving.Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="unused", base_url=f"{server.url}/v1", max_retries=0) as made:
        yield made


@pytest.mark.real
def test_a_chat_and_its_stream_say_the_same(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(**SAID)
    assert whole.choices[0].message.content and whole._request_id.startswith("req_")
    chunks = list(client.chat.completions.create(**SAID, stream=True, stream_options={"include_usage": True}))
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == whole.choices[0].message.content
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    with client.chat.completions.stream(**SAID) as stream:
        assert stream.get_final_completion().choices[0].message.content == said


@pytest.mark.real
def test_log_probabilities_are_typed(client: openai.OpenAI) -> None:
    told = client.chat.completions.create(**SAID, logprobs=True, top_logprobs=3).choices[0].logprobs.content
    assert len(told) > 5 and all(len(one.top_logprobs) == 3 and one.logprob <= 0 for one in told)


@pytest.mark.real
@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "look"}}])
def test_a_forced_tool_is_always_called(client: openai.OpenAI, choice: Any) -> None:
    for seed in range(3):
        asked = {**SAID, "max_tokens": 200, "temperature": 1, "seed": seed}
        told = client.chat.completions.create(**asked, tools=[LOOK, WAIT], tool_choice=choice)
        assert told.choices[0].finish_reason == "tool_calls"
        call = told.choices[0].message.tool_calls[0]
        json.loads(call.function.arguments)
        assert call.function.name == "look" or choice == "required"
        with client.chat.completions.stream(**asked, tools=[LOOK, WAIT], tool_choice=choice) as stream:
            streamed = stream.get_final_completion().choices[0].message.tool_calls[0]
        assert streamed.function.name == "look" or choice == "required"
        json.loads(streamed.function.arguments)


@pytest.mark.real
def test_a_schema_holds(client: openai.OpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"price": {"type": "integer"}, "mood": {"enum": ["calm", "angry"]}},
        "required": ["price", "mood"],
        "additionalProperties": False,
    }
    form: Any = {"type": "json_schema", "json_schema": {"name": "offer", "schema": schema, "strict": True}}
    told = client.chat.completions.create(**{**SAID, "max_tokens": 100}, response_format=form)
    found = json.loads(told.choices[0].message.content)
    assert isinstance(found["price"], int) and found["mood"] in ("calm", "angry")


@pytest.mark.real
def test_several_prompts_are_choices_of_one_completion(client: openai.OpenAI) -> None:
    asked: Any = {"model": "sotto/house", "max_tokens": 6, "temperature": 0}
    alone = [client.completions.create(prompt=one, **asked) for one in ("The inn", "The sea")]
    both = client.completions.create(prompt=["The inn", "The sea"], **asked)
    assert [choice.index for choice in both.choices] == [0, 1]
    assert [choice.text for choice in both.choices] == [one.choices[0].text for one in alone]
    assert both.usage.completion_tokens == sum(one.usage.completion_tokens for one in alone)
    assert both.usage.prompt_tokens == sum(one.usage.prompt_tokens for one in alone)

    options: Any = {"include_usage": True}
    chunks = list(
        client.completions.create(
            prompt=["The inn", "The sea"], n=2, stream=True, stream_options=options, **asked
        )
    )
    texts = ["", "", "", ""]
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == [text for one in alone for text in 2 * [one.choices[0].text]]
    assert len({chunk.id for chunk in chunks}) == 1
    assert [chunk.usage.completion_tokens for chunk in chunks if chunk.usage] == [24]


@pytest.mark.real
def test_a_prompt_of_tokens_is_one_prompt(client: openai.OpenAI, server: serving.Served) -> None:
    asked: Any = {"model": "sotto/house", "max_tokens": 6, "temperature": 0}
    one = client.completions.create(prompt=[300, 301], **asked)
    assert len(one.choices) == 1 and one.usage.prompt_tokens == 2
    two = client.completions.create(prompt=[[300, 301], [302]], **asked)
    assert len(two.choices) == 2 and two.usage.prompt_tokens == 3
    for prompt in ([], [""] * 129, ["a", 1], [["a"], ["b"]]):
        status, _, told = server.ask("/v1/completions", {**asked, "prompt": prompt})
        assert status == 400 and "prompt" in told["error"]["message"]


@pytest.mark.real
def test_embeddings_in_both_encodings(client: openai.OpenAI) -> None:
    texts = ["the night", "a sea"]
    packed = client.embeddings.create(model="encoder", input=texts)  # as base64, which is the client's wish
    plain = client.embeddings.create(model="encoder", input=texts, encoding_format="float")
    for one, other in zip(packed.data, plain.data, strict=True):
        assert one.embedding == pytest.approx(other.embedding, abs=1e-6)
        assert math.hypot(*other.embedding) == pytest.approx(1, abs=1e-3)
    assert plain.usage.prompt_tokens > 0
    with pytest.raises(openai.APIStatusError):
        client.embeddings.create(model="sotto/house", input=texts, dimensions=0)


@pytest.mark.real
def test_responses_go_on_and_stream(client: openai.OpenAI) -> None:
    asked: Any = {"model": "sotto/house", "max_output_tokens": 12, "temperature": 0}
    first = client.responses.create(input="Hello", **asked)
    assert first.output_text and first.status in ("completed", "incomplete")
    second = client.responses.create(input="And then?", previous_response_id=first.id, **asked)
    assert second.previous_response_id == first.id
    assert second.usage.input_tokens > first.usage.input_tokens + 12
    events = list(client.responses.create(input="Hello", stream=True, **asked))
    assert events[0].type == "response.created" and events[-1].type.startswith("response.")
    said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert said == first.output_text == events[-1].response.output_text
    with pytest.raises(openai.APIStatusError, match="resp_none"):
        client.responses.create(input="x", previous_response_id="resp_none", **asked)


@pytest.mark.real
def test_models_are_listed(client: openai.OpenAI) -> None:
    assert {model.id for model in client.models.list()} == {"sotto/house", "encoder"}
    assert client.models.retrieve("sotto/house").object == "model"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("none")


@pytest.mark.real
def test_errors_are_those_of_the_client(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="max_tokens") as caught:
        client.chat.completions.create(**{**SAID, "max_tokens": -1})
    assert caught.value.type == "invalid_request_error"
    with pytest.raises(openai.NotFoundError, match="gpt-9"):
        client.chat.completions.create(**{**SAID, "model": "gpt-9"})
    image: Any = {"type": "image_url", "image_url": {"url": "https://tools.example/cat.png"}}
    with pytest.raises(openai.APIStatusError):
        client.chat.completions.create(**{**SAID, "messages": [{"role": "user", "content": [image]}]})


@pytest.mark.real
def test_a_closed_stream_is_cancelled(client: openai.OpenAI, server: serving.Served) -> None:
    body = {"target_tps": 5, "ignore_eos": True}
    chat = client.chat.completions.create(**{**SAID, "max_tokens": 2000}, stream=True, extra_body=body)
    assert closed(chat, server) == 1
    texts: Any = {"model": "sotto/house", "prompt": ["The inn", "The sea"], "max_tokens": 2000}
    assert closed(client.completions.create(**texts, stream=True, extra_body=body), server) == 2


def closed(stream: Any, server: serving.Served) -> int:
    """Closes a stream that has begun. Returns how many slots it had; fails if they are not freed."""
    next(iter(stream))
    until, most = time.monotonic() + 5, 0
    while time.monotonic() < until - 4.5:
        most = max(most, server.ask("/health")[2]["slots_processing"])
    stream.close()
    while server.ask("/health")[2]["slots_processing"] and time.monotonic() < until:
        time.sleep(0.02)
    assert server.ask("/health")[2]["slots_processing"] == 0
    return most


@pytest.fixture
def scripted(tmp_path: Path) -> Any:
    """Starts a server on a scripted model."""

    def start(script: dict[str, Any], *arguments: str) -> Any:
        path = tmp_path / "npc.json"
        path.write_text(json.dumps(script))
        return serving.served("--module-dir", str(SCRIPTED), *arguments, model=f"npc={path}")

    return start


def test_a_busy_server_is_asked_again(scripted: Any) -> None:
    script = {"tokens": ["Hm", "."], "loop": True, "token_ms": 20}
    with scripted(script, "--api-key", "secret", "--max-requests", "1") as server:
        wrong = openai.OpenAI(api_key="no", base_url=f"{server.url}/v1", max_retries=0)
        with wrong, pytest.raises(openai.AuthenticationError):
            wrong.chat.completions.create(**SAID)
        with openai.OpenAI(api_key="secret", base_url=f"{server.url}/v1", max_retries=0) as client:
            slow = threading.Thread(target=client.chat.completions.create, kwargs={**SAID, "max_tokens": 100})
            slow.start()
            while not server.ask("/health")[2]["slots_processing"]:
                time.sleep(0.02)
            with pytest.raises(openai.RateLimitError) as caught:
                client.chat.completions.create(**SAID)
            assert caught.value.response.headers["retry-after"] == "1"
            told = client.with_options(max_retries=5).chat.completions.create(**SAID)
            assert told.choices[0].message.content == 6 * "Hm."
            slow.join()


def test_a_model_that_fails_is_an_internal_error(scripted: Any) -> None:
    with scripted({"tokens": ["a", "b", "c"], "fail_at": 1, "fail_step": 1}) as server:
        client = openai.OpenAI(api_key="unused", base_url=f"{server.url}/v1", max_retries=0)
        with client, pytest.raises(openai.InternalServerError):
            client.chat.completions.create(**SAID)
