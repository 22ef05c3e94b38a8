"""`sotto.client`: whatever a server sends, the result is a dataclass or one of the client's errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from client_mock import ANSWERS
from sotto.client import ApiError, ClientError, _read
from sotto.client._json import Answer
from sotto.client._wire import Chunks, Endpoint

READERS: dict[str, Callable[[Answer], Any]] = {
    "/v1/chat/completions": _read.chat,
    "/completion": _read.native,
    "/v1/embeddings": _read.embeddings,
    "/embedding": lambda answer: _read.vectors(answer, None),
    "/tokenize": _read.tokens,
    "/detokenize": lambda answer: _read.text_of(answer, "content"),
    "/v1/rerank": lambda answer: _read.rerank(answer, ["a", "b"]),
    "/health": _read.health,
    "/props": _read.mapping,
    "/models/load": _read.success,
    "/slots": _read.slots,
    "/lora-adapters": _read.adapters,
    "/v1/models": _read.models,
}
LEAVES = some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8)
NAMES = some.text(max_size=4)
VALUES = some.recursive(
    LEAVES, lambda one: some.lists(one, max_size=3) | some.dictionaries(NAMES, one, max_size=3)
)


def replaced(value: Any, at: list[int], other: Any) -> Any:
    """Returns a JSON value with a part of it, chosen by `at`, replaced."""
    if not at or not isinstance(value, (dict, list)) or not value:
        return other
    if isinstance(value, list):
        index = at[0] % len(value)
        return [*value[:index], replaced(value[index], at[1:], other), *value[index + 1 :]]
    name = sorted(value)[at[0] % len(value)]
    return {**value, name: replaced(value[name], at[1:], other)}


@pytest.mark.parametrize("path", READERS)
@settings(max_examples=50)
@example(at=[0, 0, 0], other="\x80")
@given(at=some.lists(some.integers(0, 9), max_size=5), other=VALUES)
def test_damaged_responses(path: str, at: list[int], other: Any) -> None:
    body = json.dumps(replaced(ANSWERS[path], at, other)).encode()
    with suppress(ApiError):
        READERS[path](Answer(f"GET {path}", 200, body))


@pytest.mark.parametrize("path", READERS)
@settings(max_examples=50)
@given(body=some.binary(max_size=64))
@example(body=b"[" * 200_000)
@example(body=b"1e999")
@example(body=b'{"a": ' * 100_000)
def test_garbage(path: str, body: bytes) -> None:
    with suppress(ApiError):
        READERS[path](Answer(f"GET {path}", 200, body))


@given(events=some.lists(some.text(max_size=16) | VALUES.map(json.dumps), max_size=4))
@example(events=['{"error": 5}', '{"choices": 5}', '{"choices": [5]}', '{"error": {"code": true}}'])
@example(events=["[" * 200_000])
def test_events(events: list[str]) -> None:
    chunks = Chunks(Endpoint("http://127.0.0.1", "secret-key", 1.0, True), "POST /completion")
    for one in events:
        with suppress(ClientError):
            assert chunks.read(one) is None or isinstance(json.loads(one), dict)
    with suppress(ClientError):
        chunks.end()


@given(raw=some.binary(max_size=64) | VALUES.map(lambda value: json.dumps({"error": value}).encode()))
@example(raw=b"[" * 200_000)
@example(raw=json.dumps({"error": {"message": ["secret-key"], "type": {"secret-key": 1}}}).encode())
def test_errors(raw: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        Endpoint("http://127.0.0.1", "secret-key", 1.0, True).fail("GET /", 500, raw)
    assert "secret-key" not in f"{caught.value} {caught.value.__dict__}"
