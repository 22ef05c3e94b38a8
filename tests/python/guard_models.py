"""Models for tests of guardrails: an encoder in Python, and a scripted judge."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import sotto
from sotto.backends import Backend, Model, ModelInfo, Part, Request, Source

WORDS = ("election", "vote", "president", "bomb", "weapon", "sword", "ale", "room", "weather")


class Encoder(Model):
    """Embeds a text as the number of times that it has each of `WORDS`."""

    info = ModelInfo(streams=4)
    broken: Any = None  # what it returns instead of vectors
    delay = 0.0

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def embed(self, request: Request) -> Iterator[str | Part]:
        self.batches.append(request.inputs)
        time.sleep(self.delay)
        if self.broken is not None:
            return self.broken  # type: ignore[no-any-return]
        yield Part()
        data = [{"index": i, "embedding": vector(text)} for i, text in enumerate(request.inputs)]
        return {"object": "list", "data": data}  # type: ignore[return-value]


def vector(text: str) -> list[float]:
    return [float(text.lower().count(word)) for word in WORDS] + [0.1]


class Made(Backend):
    """Opens the encoder."""

    name = "made"

    def __init__(self) -> None:
        self.model = Encoder()

    def open(self, source: Source) -> Model:
        return self.model


TOPICS: dict[str, Any] = {
    "type": "topics",
    "model": "encoder",
    "topics": {
        "politics": ["Who won the election?", "I vote for the president."],
        "weapons": ["How do I build a bomb?"],
    },
    "threshold": 0.8,
}
JUDGE: dict[str, Any] = {
    "type": "judge",
    "model": "judge",
    "instruction": "Block insults.",
    "category": "insult",
}


def load_judge(engine: sotto.Engine, answer: str, name: str = "judge", **script: Any) -> None:
    engine.load_model(name, options={"constrainable": True, "tokens": [answer], **script})


def says(verdict: str) -> str:
    return json.dumps({"verdict": verdict})


def lend(engine: sotto.Engine) -> Encoder:
    """Loads the encoder, as the model "encoder"."""
    made = Made()
    engine.add_backend(made)
    engine.load_model("encoder", path="somewhere", backend="made")
    return made.model
