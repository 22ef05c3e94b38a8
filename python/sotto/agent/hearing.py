"""`Hearing`: puts the parts of one answer together."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ..completion import Delta, Usage
from ..event import FinishReason


class RawCall(NamedTuple):
    """A call as the model wrote it."""

    id: str
    name: str
    arguments: str


class Hearing:
    """What was heard of one answer so far."""

    def __init__(self) -> None:
        self.text = self.reasoning = ""
        self.finish_reason: FinishReason = ""
        self.usage = Usage()
        self._calls: dict[int, dict[str, str]] = {}

    @property
    def calls(self) -> list[RawCall]:
        """The calls, in the model's order."""
        return [RawCall(**one) for _, one in sorted(self._calls.items())]

    def add(self, delta: Delta) -> None:
        """Adds a part."""
        self.text += delta.text
        self.reasoning += delta.reasoning
        if delta.replacement is not None:
            self.text = delta.replacement
        if delta.finish_reason:
            self.finish_reason = cast(FinishReason, delta.finish_reason)
        if told := delta.raw.get("usage"):
            cached = (told.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            self.usage = Usage(told.get("prompt_tokens", 0), told.get("completion_tokens", 0), cached)
        for choice in delta.raw.get("choices") or ():
            for part in (choice.get("delta") or {}).get("tool_calls") or ():
                self._add_call(part)

    def _add_call(self, part: Mapping[str, Any]) -> None:
        call = self._calls.setdefault(part.get("index", 0), {"id": "", "name": "", "arguments": ""})
        function = part.get("function") or {}
        call["id"] = part.get("id") or call["id"]
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""


class CallProbability:
    """Probability of a call: the product over its tokens.

    Names of fields do not count. The grammar forces them, so their probability says nothing about the call.
    A last string that may be such a name does not count yet.
    """

    _FIELD = re.compile(r'"[^"\\]*(?:"\s*:|"?\s*$)')

    def __init__(self) -> None:
        self._tokens: list[tuple[str, float]] = []

    def after(self, delta: Delta) -> float:
        """Adds a delta of the answer, and returns the probability so far; 0 if the delta is text."""
        for choice in delta.raw.get("choices") or ():
            if (choice.get("delta") or {}).get("tool_calls"):
                for token in (choice.get("logprobs") or {}).get("content") or ():
                    self._tokens.append((token["token"], token["logprob"]))
        return 0.0 if delta.text else math.exp(self._logprob())

    def _logprob(self) -> float:
        names = [one.span() for one in self._FIELD.finditer("".join(text for text, _ in self._tokens))]
        end, logprob = 0, 0.0
        for text, one in self._tokens:
            begin, end = end, end + len(text)
            if not any(begin < last and first < end for first, last in names):
                logprob += one
        return logprob


def total(usages: list[Usage]) -> Usage:
    """Returns the sum of token counts."""
    return Usage(*(sum(one) for one in zip(*usages, strict=True))) if usages else Usage()
