"""Submits a chat request and streams its answer. Ctrl-C cancels the request."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..._handle import raise_failure
from ...engine import Engine
from ...event import Event

Hear = Callable[[str, str], None]  # kind ("text" or "reasoning"), and the new text
_PATIENCE = 0.05  # seconds between two checks for Ctrl-C


@dataclass
class Answer:
    """Answer to a question. `first`, `last`: seconds from the question to the first and the last text."""

    text: str = ""
    reasoning: str = ""
    finish: str = ""
    tokens: int = 0
    prompt_tokens: int | None = None
    cached_tokens: int = 0
    dropped: int = 0  # messages dropped because they did not fit into the context
    first: float | None = None
    last: float = 0.0
    stopped: bool = False

    @property
    def tps(self) -> float | None:
        """Decode speed in tokens per second, from the first token on. None: fewer than 2 tokens."""
        if self.first is None or self.tokens < 2 or self.last <= self.first:
            return None
        return (self.tokens - 1) / (self.last - self.first)

    def take(self, event: Event, now: float) -> Iterator[tuple[str, str]]:
        """Adds an event to the answer; `now`: seconds since the question. Yields (kind, text) to display."""
        self.tokens = max(self.tokens, event.tokens)
        if event.kind == "request_done" or not event.json:
            return
        chunk = json.loads(event.json)
        for choice in chunk["choices"]:
            delta = choice.get("delta", {})
            for kind, name in (("reasoning", "reasoning_content"), ("text", "content")):
                if words := delta.get(name):
                    self._heard(kind, words, now)
                    yield kind, words
            self.finish = choice.get("finish_reason") or self.finish
        if timings := chunk.get("timings"):
            self.cached_tokens = timings["cache_n"]
            self.dropped = timings.get("dropped_messages", 0)
            self.prompt_tokens = timings["cache_n"] + timings["prompt_n"]

    def _heard(self, kind: str, words: str, now: float) -> None:
        if kind == "text":
            self.text += words
        else:
            self.reasoning += words
        self.first = now if self.first is None else self.first
        self.last = now


def ask(
    engine: Engine, request: dict[str, Any], hear: Hear, progress: Callable[[float], None] | None = None
) -> Answer:
    """Submits a chat request and waits until the answer is complete, or until Ctrl-C cancels it.

    Args:
        engine: the engine that runs the request.
        request: an OpenAI chat completion request.
        hear: is called with the kind ("text" or "reasoning") and the new text, while the answer streams.
        progress: is called with the progress of the prefill, from 0 to 1.

    Returns:
        The answer. `stopped` is true if Ctrl-C cancelled the request.

    Raises:
        SottoError: the request failed.
    """
    answer, began, accepted = Answer(), time.perf_counter(), False
    with _interrupt() as interrupted:
        number = engine.submit("chat", request, chunks=True)
        while True:
            if interrupted.is_set() and not answer.stopped:
                answer.stopped = True
                engine.cancel(number)
            engine.wait(_PATIENCE)
            for event in engine.events():
                if event.request != number:
                    continue
                for kind, words in answer.take(event, time.perf_counter() - began):
                    hear(kind, words)
                if event.kind == "progress" and progress is not None:
                    progress(event.progress)
                if event.kind == "request_done":
                    if not answer.stopped:
                        raise_failure(event, refused=not accepted)
                    return answer
                accepted = True


@contextmanager
def _interrupt() -> Iterator[threading.Event]:
    """Yields an event. Inside the context, Ctrl-C sets that event and does not raise `KeyboardInterrupt`."""
    pressed = threading.Event()
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
