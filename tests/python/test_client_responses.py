"""`sotto.client`: the dataclasses, from whole and from sparse responses."""

from __future__ import annotations

import base64
import dataclasses
import json
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

from client_mock import CHAT, MockServer, Reply
from sotto import client as module
from sotto.client import ApiError, LlamaCppClient, StopType

FIELDS = {  # documented ones, then ours
    "CompletionResponse": (
        "id object created model choices usage timings system_fingerprint",
        "raw",
    ),
    "Choice": ("index message text finish_reason", "stop_type stopping_word tokens logprobs"),
    "Message": ("role content tool_calls reasoning_content", ""),
    "Usage": ("prompt_tokens completion_tokens total_tokens", ""),
    "Timings": (
        "prompt_n prompt_ms prompt_per_token_ms prompt_per_second predicted_n predicted_ms "
        "predicted_per_token_ms predicted_per_second cache_n",
        "",
    ),
    "EmbeddingsResponse": ("object data model usage", ""),
    "EmbeddingData": ("index embedding object", ""),
    "RerankResponse": ("model results usage", ""),
    "RerankResult": ("index relevance_score document", ""),
    "TokenizeResponse": ("tokens", ""),
    "HealthStatus": ("status slots_idle slots_processing", ""),
    "SlotInfo": ("id is_processing n_ctx n_predict params prompt", "raw"),
    "LoraAdapter": ("id path scale", ""),
    "ModelInfo": ("id object created owned_by meta status multimodal", ""),
}
TIMINGS = {
    "cache_n": 4,
    "prompt_n": 2,
    "prompt_ms": 10.0,
    "prompt_per_token_ms": 5.0,
    "prompt_per_second": 200.0,
    "predicted_n": 3,
    "predicted_ms": 30,
    "predicted_per_token_ms": 10.0,
    "predicted_per_second": 100.0,
}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
WHOLE = {
    "id": "chatcmpl-9",
    "object": "chat.completion",
    "created": 1764356000,
    "model": "house",
    "system_fingerprint": "b6000-x",
    "usage": {"prompt_tokens": 6, "completion_tokens": 3, "total_tokens": 9},
    "timings": TIMINGS,
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "reasoning_content": "Hm.",
                "tool_calls": [CALL],
            },
        },
        {"index": 1, "finish_reason": "length", "message": {"role": "assistant", "content": "a"}},
    ],
}


@pytest.fixture
def server() -> Iterator[MockServer]:
    """A recording server."""
    with MockServer() as mock:
        yield mock


@pytest.fixture
def client(server: MockServer) -> Iterator[LlamaCppClient]:
    """A client of it."""
    with LlamaCppClient(server.url, timeout=20) as one:
        yield one


@pytest.mark.row("B-155", "B-164", "B-169", "B-174", "B-178", "B-188", "B-193", "B-197", "B-201", "B-205")
@pytest.mark.row("B-207", "B-211", "B-218", "B-153")
@pytest.mark.parametrize("name", FIELDS)
def test_dataclasses_have_the_documented_fields_first(name: str) -> None:
    cls = getattr(module, name)
    assert dataclasses.is_dataclass(cls)
    documented, ours = FIELDS[name]
    assert [one.name for one in dataclasses.fields(cls)] == f"{documented} {ours}".split()
    missing = (dataclasses.MISSING, dataclasses.MISSING)
    for one in dataclasses.fields(cls):
        assert one.name in documented.split() or (one.default, one.default_factory) != missing


@pytest.mark.row("B-222", "B-223", "B-224", "B-225", "B-226")
def test_stop_types() -> None:
    assert {one.name: one.value for one in StopType} == {
        "NONE": "none",
        "EOS": "eos",
        "LIMIT": "limit",
        "WORD": "word",
    }


@pytest.mark.row("B-063", "B-156", "B-157", "B-158", "B-159", "B-160", "B-161", "B-162", "B-163")
@pytest.mark.row("B-165", "B-166", "B-168", "B-170", "B-171", "B-172", "B-173", "B-175", "B-176", "B-177")
@pytest.mark.row("B-179", "B-180", "B-181", "B-182", "B-183", "B-184", "B-185", "B-186", "B-187")
def test_a_whole_chat(client: LlamaCppClient, server: MockServer) -> None:
    server.replies["/v1/chat/completions"] = Reply(WHOLE)
    answer: Any = client.chat_completion([])
    assert (answer.id, answer.object, answer.created) == ("chatcmpl-9", "chat.completion", 1764356000)
    assert (answer.model, answer.system_fingerprint) == ("house", "b6000-x")
    assert dataclasses.asdict(answer.usage) == WHOLE["usage"]
    assert dataclasses.asdict(answer.timings) == TIMINGS
    first, second = answer.choices
    assert (first.index, first.finish_reason, first.text) == (0, "tool_calls", None)
    assert (first.message.role, first.message.content) == ("assistant", None)
    assert (first.message.reasoning_content, first.message.tool_calls) == ("Hm.", [CALL])
    assert (second.index, second.finish_reason, second.message.content) == (1, "length", "a")
    assert (second.message.tool_calls, second.message.reasoning_content) == (None, None)
    assert answer.raw == WHOLE


@pytest.mark.row("B-155", "B-162", "B-163")
def test_a_plain_chat_has_no_timings(client: LlamaCppClient) -> None:
    answer: Any = client.chat_completion([])
    assert (answer.usage, answer.timings, answer.system_fingerprint) == (None, None, None)
    assert answer.choices[0].message.content == "Hi"


@pytest.mark.row("B-045", "B-063", "B-164", "B-169")
def test_a_sparse_chat_has_defaults(client: LlamaCppClient, server: MockServer) -> None:
    server.replies["/v1/chat/completions"] = Reply({"choices": [{"message": {}}, {"message": {}}]})
    answer: Any = client.chat_completion([])
    assert (answer.id, answer.object, answer.created, answer.model) == ("", "chat.completion", 0, "")
    assert [one.index for one in answer.choices] == [0, 1]
    message = answer.choices[0].message
    assert (message.role, message.content, message.tool_calls) == ("assistant", None, None)


@pytest.mark.row("B-101", "B-156", "B-157", "B-158", "B-161", "B-167")
def test_a_native_completion(client: LlamaCppClient, server: MockServer) -> None:
    body = {
        "content": " fox",
        "tokens": [7, 8],
        "model": "house",
        "stop_type": "word",
        "stopping_word": "\n",
        "tokens_evaluated": 5,
        "tokens_predicted": 2,
        "timings": TIMINGS,
        "completion_probabilities": [{"id": 7}],
    }
    server.replies["/completion"] = Reply(body)
    answer: Any = client.complete("The quick brown")
    assert answer.id and answer.object == "text_completion"
    assert abs(answer.created - time.time()) < 5
    assert dataclasses.astuple(answer.usage) == (5, 2, 7)
    assert answer.timings.cache_n == 4
    choice = answer.choices[0]
    assert (choice.index, choice.text, choice.message) == (0, " fox", None)
    assert (choice.finish_reason, choice.stop_type, choice.stopping_word) == ("stop", StopType.WORD, "\n")
    assert (choice.tokens, choice.logprobs) == ([7, 8], [{"id": 7}])
    assert client.complete("a").id != answer.id  # type: ignore[union-attr]


@pytest.mark.row("B-102", "B-168", "B-223", "B-224", "B-225", "B-226")
@pytest.mark.parametrize(
    ("stop_type", "reason"), [("none", None), ("eos", "stop"), ("limit", "length"), ("word", "stop")]
)
def test_stop_types_become_finish_reasons(
    client: LlamaCppClient, server: MockServer, stop_type: str, reason: str | None
) -> None:
    server.replies["/completion"] = Reply({"content": "", "stop_type": stop_type})
    answer: Any = client.complete("a")
    assert (answer.choices[0].finish_reason, answer.choices[0].stop_type.value) == (reason, stop_type)
    server.replies["/completion"] = Reply({"content": "", "stop_type": "of a newer server"})
    answer = client.complete("a")
    assert (answer.choices[0].finish_reason, answer.choices[0].stop_type) == (None, None)


def test_several_prompts_are_several_choices(client: LlamaCppClient, server: MockServer) -> None:
    one = {"content": "a", "tokens_evaluated": 2, "tokens_predicted": 1}
    server.replies["/completion"] = Reply([one, {**one, "content": "b"}])
    answer: Any = client.complete(["x", "y"])
    assert [(choice.index, choice.text) for choice in answer.choices] == [(0, "a"), (1, "b")]
    assert dataclasses.astuple(answer.usage) == (4, 2, 6)


@pytest.mark.row("B-107", "B-109", "B-189", "B-190", "B-191", "B-192", "B-194", "B-195", "B-196")
def test_embeddings(client: LlamaCppClient, server: MockServer) -> None:
    packed = base64.b64encode(struct.pack("<3f", 0.25, -1.5, 3.0)).decode()
    data = [
        {"object": "embedding", "index": 1, "embedding": [1, 2.5, 3]},
        {"object": "embedding", "index": 0, "embedding": packed},
    ]
    usage = {"prompt_tokens": 4, "total_tokens": 4}
    server.replies["/v1/embeddings"] = Reply({"object": "list", "data": data, "model": "m", "usage": usage})
    answer = client.embeddings.create(["a", "b"])
    assert (answer.object, answer.model) == ("list", "m")
    assert [one.index for one in answer.data] == [0, 1]
    assert [one.embedding for one in answer.data] == [[0.25, -1.5, 3.0], [1.0, 2.5, 3.0]]
    assert {one.object for one in answer.data} == {"embedding"}
    assert dataclasses.astuple(answer.usage) == (4, 0, 4)


@pytest.mark.row("B-110")
def test_native_vectors(client: LlamaCppClient, server: MockServer) -> None:
    server.replies["/embedding"] = Reply([{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [[1]]}])
    assert client.embed(["a", "b"]) == [[1.0], [2.0]]
    with pytest.raises(ApiError, match="an array of 3 results"):
        client.embed(["a", "b", "c"])
    server.replies["/embedding"] = Reply({"embedding": [1, 2]})
    assert client.embed("a") == [[1.0, 2.0]]
    server.replies["/embedding"] = Reply([{"index": 0, "embedding": [[1, 2], [3, 4]]}])
    assert client.embed("a b") == [[1.0, 2.0], [3.0, 4.0]]  # one per token
    with pytest.raises(ApiError, match="does not pool"):
        client.embed(["a b"])


@pytest.mark.row("B-127", "B-198", "B-199", "B-200", "B-202", "B-203", "B-204")
def test_ranks(client: LlamaCppClient, server: MockServer) -> None:
    found = [{"index": 2, "relevance_score": -3}, {"index": 0, "relevance_score": 1.5}]
    usage = {"prompt_tokens": 9, "total_tokens": 9}
    server.replies["/v1/rerank"] = Reply({"model": "m", "results": found, "usage": usage})
    answer = client.rerank("q", ["a", "b", "c"])
    assert answer.model == "m" and answer.usage is not None and answer.usage.total_tokens == 9
    ranked = [(one.index, one.relevance_score, one.document) for one in answer.results]
    assert ranked == [(0, 1.5, "a"), (2, -3.0, "c")]
    with pytest.raises(ApiError, match=r"results\[0\]\.index"):
        client.rerank("q", ["a", "b"])


@pytest.mark.row("B-120", "B-122", "B-206")
def test_tokens(client: LlamaCppClient, server: MockServer) -> None:
    tokens = client.tokenize("Hello, world!")
    assert tokens.tokens == [1, 2]
    assert client.detokenize(tokens.tokens) == "ab"
    pieces = [{"id": 1, "piece": "a"}, {"id": 2, "piece": [255]}]
    server.replies["/tokenize"] = Reply({"tokens": pieces})
    assert client.tokenize("a", with_pieces=True).tokens == pieces


@pytest.mark.row("B-020", "B-208", "B-209", "B-210", "B-212", "B-213", "B-214", "B-215", "B-216", "B-217")
@pytest.mark.row("B-219", "B-220", "B-221", "B-153")
def test_states(client: LlamaCppClient, server: MockServer) -> None:
    slot = {"id": 1, "is_processing": True, "n_ctx": 512, "params": {"n_predict": 64}, "prompt": "<s>"}
    server.replies["/slots"] = Reply([{"id": 0}, slot])
    sparse, whole = client.slots.list()
    assert dataclasses.astuple(sparse)[:6] == (0, False, 0, -1, {}, "")
    assert dataclasses.astuple(whole)[:6] == (1, True, 512, 64, {"n_predict": 64}, "<s>")
    assert whole.raw == slot
    adapter = client.lora.list()[0]
    assert dataclasses.astuple(adapter) == (0, "a.gguf", 1.0)
    models = [{"name": "m", "capabilities": ["completion", "multimodal"]}]
    data = [{"id": "m", "created": 5, "meta": {"n_ctx": 1}}, {"id": "other"}]
    server.replies["/v1/models"] = Reply({"models": models, "data": data})
    first, second = client.models.list()
    assert dataclasses.astuple(first) == ("m", "model", 5, "llamacpp", {"n_ctx": 1}, None, True)
    assert dataclasses.astuple(second) == ("other", "model", 0, "llamacpp", None, None, False)


BROKEN: list[Any] = [
    b"",
    b"{",
    b"null",
    b"[" * 100_000,
    {},
    [],
    {"choices": None},
    {"choices": {}},
    {"choices": [1]},
    {"choices": [{"message": "Hi"}]},
    {"choices": [{"message": {"content": 1}}]},
    {**CHAT, "created": "now"},
    {**CHAT, "usage": []},
    {**CHAT, "timings": {"prompt_n": True}},
    {**CHAT, "timings": {"prompt_ms": "fast"}},
]


@pytest.mark.parametrize("body", BROKEN, ids=range(len(BROKEN)))
def test_a_malformed_chat_names_the_place(client: LlamaCppClient, server: MockServer, body: Any) -> None:
    server.replies["/v1/chat/completions"] = Reply(body)
    with pytest.raises(ApiError, match="invalid response") as caught:
        client.chat_completion([])
    assert caught.value.status == 200


@pytest.mark.parametrize(
    ("path", "call"),
    [
        ("/completion", lambda one: one.complete("a")),
        ("/v1/embeddings", lambda one: one.embeddings.create("a")),
        ("/embedding", lambda one: one.embed("a")),
        ("/tokenize", lambda one: one.tokenize("a")),
        ("/detokenize", lambda one: one.detokenize([1])),
        ("/apply-template", lambda one: one.apply_template([])),
        ("/v1/rerank", lambda one: one.rerank("a", ["b"])),
        ("/props", lambda one: one.props()),
        ("/slots", lambda one: one.slots.list()),
        ("/lora-adapters", lambda one: one.lora.list()),
        ("/v1/models", lambda one: one.models.list()),
    ],
)
def test_malformed_responses_raise_one_kind_of_error(
    client: LlamaCppClient, server: MockServer, path: str, call: Any
) -> None:
    wrong = [1, "a", None, True, [1], [[1]], [{"id": "x"}], [{}], [{"embedding": 5}], [{"embedding": "!"}]]
    wrong += [{"data": [5]}, {"data": [{"embedding": "abc"}]}, {"results": [{}]}, {"content": 7}]
    for body in wrong:
        server.replies[path] = Reply(json.dumps(body).encode())
        if path == "/props" and isinstance(body, dict):
            continue  # any object is one
        with pytest.raises(ApiError, match="invalid response"):
            call(client)
