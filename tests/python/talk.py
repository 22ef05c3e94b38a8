"""What tests say to models, and what they expect back."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import sotto

_USAGE = {
    "type": "object",
    "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
    "properties": {
        name: {"type": "integer", "minimum": 0} for name in ("prompt_tokens", "completion_tokens")
    },
}


def _answer(object_: str, prefix: str, choice: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["id", "object", "created", "model", "choices", *more],
        "properties": {
            "id": {"type": "string", "pattern": f"^{prefix}-."},
            "object": {"const": object_},
            "created": {"type": "integer"},
            "model": {"type": "string"},
            "choices": {"type": "array", "maxItems": 1, "items": choice},
            **more,
        },
    }


def _choice(reasons: list[str | None], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["index", "finish_reason", *more],
        "properties": {"index": {"const": 0}, "finish_reason": {"enum": reasons}, **more},
    }


_SPOKEN = {"type": "object", "properties": {"role": {"const": "assistant"}, "content": {"type": "string"}}}
CHAT = _answer(
    "chat.completion",
    "chatcmpl",
    _choice(["stop", "length"], message={**_SPOKEN, "required": ["role", "content"]}),
    usage=_USAGE,
)
CHUNK = _answer("chat.completion.chunk", "chatcmpl", _choice([None, "stop", "length"], delta=_SPOKEN))
TEXT = _answer("text_completion", "cmpl", _choice(["stop", "length"], text={"type": "string"}), usage=_USAGE)


def chat(said: str = "who guards the gate", model: str = "npc", **fields: Any) -> str:
    """A chat request with one message."""
    return json.dumps({"model": model, "messages": [{"role": "user", "content": said}], **fields})


def prompt(text: str = "Once upon a time", model: str = "npc", **fields: Any) -> str:
    """A text request."""
    return json.dumps({"model": model, "prompt": text, **fields})


def content(response: str) -> str:
    """What a chat completion says."""
    return str(json.loads(response)["choices"][0]["message"]["content"])


def spoken(chunks: Iterable[str]) -> str:
    """What a stream of chat chunks says, the way the reference reads one."""
    said = ""
    for chunk_json in chunks:
        chunk = json.loads(chunk_json)
        for choice in chunk["choices"]:
            said += choice["delta"].get("content", "")
    return said


def load_endless(engine: sotto.Engine, model: str = "endless", token_ms: float = 5, **script: Any) -> None:
    """Loads a model that never comes to an end, one stream at a time."""
    engine.load_model(
        model, options={"tokens": [" on"], "loop": True, "token_ms": token_ms, "streams": 1, **script}
    )


def figures(engine: sotto.Engine, are: Callable[[sotto.Stats], bool]) -> sotto.Stats:
    """An engine's figures, once they are so. They are brought up to date ten times a second."""
    end = time.monotonic() + 10
    while not are(found := engine.stats()):
        assert time.monotonic() < end, found
        time.sleep(0.01)
    return found


def threads() -> int:
    """How many this process has."""
    return len(os.listdir("/proc/self/task"))


def until_threads(count: int) -> None:
    """Waits until it has so many: one that was joined is still listed for a moment."""
    end = time.monotonic() + 10
    while threads() != count:
        assert time.monotonic() < end, threads()
        time.sleep(0.001)


class Ticks:
    """A Python thread that counts: it stands still while somebody keeps the GIL."""

    def __enter__(self) -> Ticks:
        self.count, self._going = 0, True
        self._thread = threading.Thread(target=self._tick)
        self._thread.start()
        return self

    def _tick(self) -> None:
        while self._going:
            self.count += 1
            time.sleep(0.001)

    def __exit__(self, *exc: object) -> None:
        self._going = False
        self._thread.join()
