"""`Native`: answers in the form of llama-server's own routes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import HttpError, error_object
from ..shapes import Shape

_TOO_LARGE = re.compile(r"invalid input\[\d+\] of (\d+) tokens: expected at most")
_STOPS = {"length": "limit", "stop": "eos"}


class LlamaShape(Shape):
    """llama-server's errors. Members that it counts tokens in are named as it names them."""

    def error(self, error: HttpError) -> dict[str, Any]:
        """Returns the body of an error."""
        told = error_object(error)
        if found := _TOO_LARGE.match(error.message):
            told["error"]["message"] = f"input ({found[1]} tokens) is too large to process: {error.message}"
        if "n_ctx" in error.more:
            asked, context = error.more["n_prompt_tokens"], error.more["n_ctx"]
            told["error"]["message"] = (
                f"request ({asked} tokens) exceeds the available context size ({context} tokens), "
                "try increasing it"
            )
        return told


@dataclass
class Native(LlamaShape):
    """One answer of `/completion` or `/infill`.

    Attributes:
        index: Number of the prompt in the request.
        prompt: The prompt as text.
        settings: `generation_settings`, as far as the engine does not report them.
        only: Members that the client wants; empty: all.
        tokens: Whether a whole answer has its tokens.
        silent: Whether the answer has no text: the client asked for 0 tokens.
    """

    index: int
    prompt: str
    settings: Mapping[str, Any]
    only: Sequence[str] = ()
    tokens: bool = False
    silent: bool = False
    _lines: bool = False
    _told: int = 0
    _ids: list[int] = field(default_factory=list)

    def whole(self, told: str) -> str:
        """Returns the answer."""
        return json.dumps(self.final(json.loads(told)), ensure_ascii=False)

    def final(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the answer as an object. `told`: the engine's response, or the last chunk of a stream."""
        choice = told["choices"][0]
        timings = told.get("timings", {})
        evaluated = timings.get("cache_n", 0) + timings.get("prompt_n", 0)
        predicted = 0 if self.silent else timings.get("predicted_n", 0)
        text = "" if self.silent else choice.get("text", "")
        made = {
            "index": self.index,
            "content": text,
            "tokens": choice.get("tokens", []) if self.tokens and not self.silent else [],
            "id_slot": told.get("id_slot", -1),
            "stop": True,
            "model": told["model"],
            "tokens_predicted": predicted,
            "tokens_evaluated": evaluated,
            "generation_settings": {**self.settings, **told.get("generation_settings", {})},
            "prompt": self.prompt,
            "has_new_line": choice.get("has_new_line", self._lines or "\n" in text),
            "truncated": told.get("truncated", False),
            "stop_type": choice.get("stop_type") or _STOPS.get(choice.get("finish_reason"), "none"),
            "stopping_word": choice.get("stopping_word", ""),
            "tokens_cached": evaluated + max(predicted - 1, 0),
            "timings": timings,
        }
        made["generation_settings"].update(
            {name: value for name, value in self.settings.items() if name in ("n_predict", "max_tokens")}
        )
        if made["generation_settings"].get("ignore_eos"):
            made["generation_settings"]["logit_bias"] = _never(made["generation_settings"], self.settings)
        if choice.get("completion_probabilities"):
            made["completion_probabilities"] = choice["completion_probabilities"]
        return nested(self.only, made) if self.only else made

    def chunk(self, told: str) -> str:
        """Returns the event of a chunk."""
        chunk = json.loads(told)
        if not chunk.get("choices"):
            return ""
        choice = chunk["choices"][0]
        if choice.get("finish_reason") is not None:
            return _event(self.final(chunk))
        if self.silent:
            return ""
        tokens = choice.get("tokens", [])
        self._told += len(tokens) or "prompt_progress" not in chunk
        self._lines = self._lines or "\n" in choice["text"]
        made = {
            "index": self.index,
            "content": choice["text"],
            "tokens": tokens,
            "stop": False,
            "id_slot": chunk.get("id_slot", -1),
            "tokens_predicted": self._told,
            "tokens_evaluated": chunk.get("timings", {}).get("prompt_n", 0),
        }
        if choice.get("completion_probabilities"):
            made["completion_probabilities"] = choice["completion_probabilities"]
        for name in ("timings", "prompt_progress"):
            if name in chunk:
                made[name] = chunk[name]
        return _event(made)

    def end(self) -> str:
        """Returns nothing: the event with `stop` is the last one."""
        return ""

    def broken(self, error: HttpError) -> str:
        """Returns an event with the error."""
        return f"error: {json.dumps(self.error(error)['error'])}\n\n"


def _never(told: Mapping[str, Any], asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns a `logit_bias` in which the end tokens, which the client did not name, have no finite bias."""
    own = {entry["token"] for entry in asked.get("logit_bias", [])}
    entries = told.get("logit_bias", [])
    return [entry if entry["token"] in own else {**entry, "bias": None} for entry in entries]


def nested(names: Sequence[str], told: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members that `names` lists, without absent ones; "a/b" is the member b of the object a."""
    found: dict[str, Any] = {}
    for name in names:
        value: Any = told
        for part in name.split("/"):
            if not isinstance(value, dict) or part not in value:
                break
            value = value[part]
        else:
            found[name] = value
    return found


def _event(told: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(told, ensure_ascii=False)}\n\n"
