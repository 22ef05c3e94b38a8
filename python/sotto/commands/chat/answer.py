"""One answer: asked for, heard as it comes, and stopped by Ctrl-C."""

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

Hear = Callable[[str, str], None]  # "text" or "reasoning", and the words
_PATIENCE = 0.05  # seconds between two looks at Ctrl-C


@dataclass
class Answer:
    """What came of a question. Seconds are counted from the moment it was asked."""

    text: str = ""
    reasoning: str = ""
    finish: str = ""
    tokens: int = 0
    prompt_tokens: int | None = None
    cached_tokens: int = 0
    dropped: int = 0  # messages that did not fit
    first: float | None = None
    last: float = 0.0
    stopped: bool = False

    @property
    def tps(self) -> float | None:
        """Tokens per second, from the first one on."""
        if self.first is None or self.tokens < 2 or self.last <= self.first:
            return None
        return (self.tokens - 1) / (self.last - self.first)

    def take(self, event: Event, now: float) -> Iterator[tuple[str, str]]:
        """Takes an event in. Yields what is to be heard."""
        self.tokens = max(self.tokens, event.tokens)
        if event.kind == "done" or not event.json:
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
    """Asks, and waits until the answer is whole or Ctrl-C stopped it. Raises what it failed with."""
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
                if event.kind == "done":
                    if not answer.stopped:
                        raise_failure(event, refused=not accepted)
                    return answer
                accepted = True


@contextmanager
def _interrupt() -> Iterator[threading.Event]:
    """Ctrl-C sets an event meanwhile, and does nothing else."""
    pressed = threading.Event()
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
