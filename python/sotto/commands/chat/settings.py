"""What may be set for the answers: names are ours, values are the engine's to judge."""

from __future__ import annotations

import json
from typing import Any

from ...engine import Engine
from ...errors import ArgumentError, SottoError

NAMES = {
    "temperature": "0: the likeliest token; more: more surprises",
    "top_k": "only so many of the likeliest tokens; 0: all",
    "top_p": "only the likeliest, together this probable",
    "min_p": "only those this likely next to the likeliest",
    "typical_p": "only those about as surprising as expected",
    "xtc_probability": "how often the likeliest are left out; 0: never",
    "xtc_threshold": "which of them: those more likely than this",
    "repeat_penalty": "against what was said before; 1: off",
    "repeat_last_n": "how far back that looks; -1: all the way",
    "frequency_penalty": "the same, for each time it was said",
    "presence_penalty": "the same, however often it was said",
    "dry_multiplier": "against phrases said before; 0: off",
    "mirostat": "keeps surprise level; 0: off, 1 or 2",
    "seed": "the same seed gives the same answer",
    "max_tokens": "the longest answer",
    "stop": "text that ends an answer, or a list of such",
    "response_format": 'its form, like {"type": "json_object"}',
    "reasoning_effort": "how much is thought first: low, medium, high",
}
_NOBODY = "nobody"  # no model of that id is ever loaded here


class Settings:
    """Fields of a request, each checked by the engine before it is taken."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.defaults: dict[str, Any] = {}  # per model; a set value overrides its default
        self.values: dict[str, Any] = {}

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the next request: the model's defaults, overridden by the set values."""
        return {**self.defaults, **self.values}

    def set(self, name: str, value: Any) -> None:
        """Sets one; raises `ArgumentError` with what is allowed."""
        if name not in NAMES:
            raise ArgumentError(f"there is no setting {name!r}; there are {', '.join(NAMES)}")
        check(self._engine, {name: value})
        self.values[name] = value

    def unset(self, name: str) -> None:
        """Restores the default of the model, or else the engine's default."""
        if name not in NAMES:
            raise ArgumentError(f"there is no setting {name!r}; there are {', '.join(NAMES)}")
        self.values.pop(name, None)


def parse(text: str) -> Any:
    """A value as people type it: JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def check(engine: Engine, fields: dict[str, Any]) -> None:
    """Asks a model that is not there: the engine looks at the fields first, and refuses bad ones."""
    messages = [{"role": "user", "content": "?"}]
    try:
        engine.llm_chat_completion({"model": _NOBODY, "messages": messages, **fields})
    except ArgumentError:
        raise
    except SottoError:
        return
