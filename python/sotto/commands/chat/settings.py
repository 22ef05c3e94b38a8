"""Request fields that the user can set. This module lists the names; the engine validates the values."""

from __future__ import annotations

import json
from typing import Any

from ...engine import Engine
from ...errors import ArgumentError, SottoError

NAMES = {
    "temperature": "0: the likeliest token; more: more surprises",
    "top_k": "how many of the likeliest tokens; 0: all",
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
_NOBODY = "nobody"  # model id that is never loaded here


class Settings:
    """Fields of a chat request. The engine validates each field before it is stored."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.defaults: dict[str, Any] = {}  # per model; a set value overrides its default
        self.values: dict[str, Any] = {}

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the next request: the model's defaults, overridden by the set values."""
        return {**self.defaults, **self.values}

    def set(self, name: str, value: Any) -> None:
        """Sets a field. Raises `ArgumentError`, with the allowed values, if name or value is invalid."""
        if name not in NAMES:
            raise ArgumentError(f"invalid setting '{name}': expected one of {', '.join(NAMES)}")
        check(self._engine, {name: value})
        self.values[name] = value

    def unset(self, name: str) -> None:
        """Resets the setting to the model's default or, if the model has none, to the engine's."""
        if name not in NAMES:
            raise ArgumentError(f"invalid setting '{name}': expected one of {', '.join(NAMES)}")
        self.values.pop(name, None)


def parse(text: str) -> Any:
    """Parses a typed value as JSON. Returns the text itself if it is not valid JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def check(engine: Engine, fields: dict[str, Any]) -> None:
    """Validates request fields. Raises `ArgumentError` if a field is invalid.

    Sends a request for a model that is not loaded: the engine validates the fields before it looks up the
    model.
    """
    messages = [{"role": "user", "content": "?"}]
    try:
        engine.llm_chat_completion({"model": _NOBODY, "messages": messages, **fields})
    except ArgumentError:
        raise
    except SottoError:
        return
