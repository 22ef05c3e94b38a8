"""What tests of `sotto.runner` on the house model have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import make_tiny
from make_adapter import write_gguf
from sotto.runner import (
    ChatCompletionRequest,
    ChatCompletionResponse,
    ChunkStream,
    CompletionRequest,
    CompletionResponse,
    Runner,
    Which,
)

HOUSE = Which.GGUF("sotto/house", "house.gguf")
HELLO = [{"role": "user", "content": "Hello, who are you?"}]
OPTIONS = {"context": 512, "parallel": 4}


def chat(runner: Runner, said: Any = HELLO, model: str = "default", **fields: Any) -> ChatCompletionResponse:
    """A whole answer, of at most 8 tokens."""
    request = ChatCompletionRequest(said, model, **{"max_tokens": 8, **fields})
    found = runner.send_chat_completion_request(request)
    assert isinstance(found, ChatCompletionResponse)
    return found


def stream(runner: Runner, said: Any = HELLO, **fields: Any) -> ChunkStream:
    """The chunks of an answer."""
    request = ChatCompletionRequest(said, "default", stream=True, **{"max_tokens": 8, **fields})
    found = runner.send_chat_completion_request(request)
    assert not isinstance(found, ChatCompletionResponse)
    return found


def said(answer: ChatCompletionResponse) -> str:
    """The text of the first choice."""
    return answer.choices[0].message.content or ""


def write(runner: Runner, prompt: str = "The smith said:", **fields: Any) -> CompletionResponse:
    """A continuation, of at most 8 tokens."""
    return runner.send_completion_request(CompletionRequest(prompt, "default", **{"max_tokens": 8, **fields}))


def text(runner: Runner, model: str | None = None, **fields: Any) -> str:
    """A continuation of a model of `write_models()`."""
    request = CompletionRequest("hello there", "default", max_tokens=6, **fields)
    return runner.send_completion_request(request, model).choices[0].text


def write_models(folder: Path) -> Path:
    """Writes three models of random weights, and two adapters of the first."""
    for number in (1, 2, 3):
        make_tiny.transformer("llama", number).write(folder / f"{number}.gguf")
    for seed in (11, 12):
        write_gguf(folder / f"a{seed}.gguf", seed, rank=4, spread=0.1)
    return folder
