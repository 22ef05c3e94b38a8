"""What tests of searches have in common: hits, a question, and an engine that counts tokens and embeds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sotto
from agent_script import call, calls
from made_backend import Made
from search_models import Topics
from sotto.agent import Search

BELL = {"title": "The bell", "text": "The bell of Millbrook hangs in the tower.", "url": "book:12"}
OVEN = {"title": "Bread", "text": "An oven needs an hour of heat.", "url": "book:40"}
ASKS = calls(call("search", {"query": "the bell"}))


@contextmanager
def search_engine() -> Iterator[sotto.Engine]:
    """The house model, whose tokenizer counts, and a double that embeds: "words"."""
    with sotto.Engine(mode="prioritize_compute", threads=1) as made:
        made.load_model("sotto/house")
        made.add_backend(Made(Topics("bell chime carillon", "oven bread loaf")))
        made.load_model("words", path="-", backend="made")
        yield made


def tokens(engine: sotto.Engine, text: str) -> int:
    body = {"model": "sotto/house", "content": text, "add_special": False}
    return len(json.loads(engine.tokenize(body))["tokens"])


def search(engine: sotto.Engine, source: Any, **fields: Any) -> Search:
    return Search(engine, source, **{"model": "sotto/house", "embedder": None, **fields})
