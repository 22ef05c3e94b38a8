"""Counts and first-word times of a simulation."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np

COUNTS = ("asked", "answered", "refused", "cut", "broken", "retried", "tokens")
COUNTS += ("prompt_tokens", "prefilled", "novel", "moved")


@dataclass
class Stats:
    """What happened to requests since the last `reset()`. Times are in seconds."""

    asked: int = 0
    answered: int = 0  # to the end
    refused: int = 0  # without a first word within the player's patience
    cut: int = 0  # answers whose node died while they were spoken
    broken: int = 0  # of the refused: the rest of an answer that was cut
    retried: int = 0  # requests without a word whose node died; asked again by the client
    in_flight: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    prefilled: int = 0  # tokens of prompts that were not in a KV cache
    novel: int = 0  # tokens of prompts that no node had processed before
    moved: int = 0  # sessions whose home changed
    times: array[float] = field(default_factory=lambda: array("d"))  # of first words
    waits: array[float] = field(default_factory=lambda: array("d"))  # of each of them, from the request
    gaps: array[float] = field(default_factory=lambda: array("d"))  # silences of answers that were resumed

    def reset(self) -> None:
        """Forgets all but the requests that are under way."""
        for name in COUNTS:
            setattr(self, name, 0)
        self.asked = self.in_flight
        for one in (self.times, self.waits, self.gaps):
            del one[:]

    def balanced(self) -> bool:
        """Whether each request that was asked has ended or is under way."""
        return self.asked == self.answered + self.refused + self.in_flight

    def between(self, start: float, end: float) -> np.ndarray:
        """First-word times of a span of simulated time."""
        times = np.frombuffer(self.times) if self.times else np.empty(0)
        low, high = np.searchsorted(times, (start, end))
        return np.array(self.waits[low:high])

    @property
    def repeated(self) -> float:
        """Tokens of prompts that were processed again, as a share of all tokens of prompts."""
        return (self.prefilled - self.novel) / self.prompt_tokens if self.prompt_tokens else 0.0


def quantiles(waits: np.ndarray) -> dict[str, Any]:
    """p50, p95 and p99 in milliseconds; None of an empty sample."""
    if not len(waits):
        return {"p50_ms": None, "p95_ms": None, "p99_ms": None}
    found = np.percentile(waits, (50, 95, 99)) * 1e3
    return {f"p{q}_ms": round(float(value), 1) for q, value in zip((50, 95, 99), found, strict=True)}
