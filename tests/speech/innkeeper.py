"""A decoder model that answers as an innkeeper: what is asked, and what tests do with the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import sotto

SHEET = (
    "You are Brenna, the innkeeper of Millbrook. Ale costs three copper. Stew costs five copper. A bed costs "
    "ten copper. The old mill is north of the bridge. You fear wolves."
)
ASKED = (
    "How much is the stew?",
    "Where is the old mill?",
    "What are you afraid of?",
    "Good evening to you.",
    "Can I have a bed for the night?",
    "Who are you?",
    "Tell me about the bridge.",
    "What does an ale cost?",
)
TOKENS = 24


def chat(line: str, **fields: Any) -> dict[str, Any]:
    """A greedy chat with the innkeeper."""
    messages = [{"role": "system", "content": SHEET}, {"role": "user", "content": line}]
    return {"model": "npc", "messages": messages, "max_tokens": TOKENS, "temperature": 0, **fields}


def ends(engine: sotto.Engine, requests: list[int]) -> dict[int, sotto.Event]:
    """The last event of each request."""
    found: dict[int, sotto.Event] = {}
    while len(found) < len(requests):
        assert engine.wait(30)
        for event in engine.events():
            if event.kind == "request_done":
                found[event.request] = event
    return found


def text_of(event: sotto.Event) -> str:
    """The answer."""
    assert event.status >= 0, event.error
    return str(json.loads(event.json)["choices"][0]["message"]["content"])


def load(engine: sotto.Engine, folder: Path, **options: Any) -> sotto.Engine:
    """Loads the model as "npc"."""
    engine.load_model("npc", path=folder, backend="ctranslate2", options=options)
    return engine
