"""From moments at which tokens came to figures of pace: what pacing.py says of its runs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

DECODE = 3  # SOTTO_SLICE_DECODE
POLL_S = 0.001  # what was due between two polls is seen at the second
FIRST_STEPS = 20  # that are not held against their limit: what steps take is not known yet
SPAN = 4  # intervals that a pace is taken over
NEAR = 0.25  # of an interval, that it may differ and still be the new pace

Stream = list[tuple[int, int]]  # when, in ns, and how many tokens there were by then


class Told:
    """What streams said, when, and the steps that were taken for it."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.began_ns, self.over_ns = said["began_ns"], said["over_ns"]  # of what happened meanwhile
        self.streams: list[Stream] = [
            list(zip(one["at_ns"], one["tokens"], strict=True)) for one in said["streams"]
        ]
        self.steps: list[tuple[int, float, float]] = said["slices"]  # kind, ms, limit in ms

    def since(self, ns: int) -> list[Stream]:
        """Only what came from then on."""
        return [[one for one in stream if one[0] >= ns] for stream in self.streams]


def p99(values: list[float]) -> float:
    """The 99th of 100."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def longest_step(told: Told) -> float:
    """In milliseconds, of those in which everyone spoke a token."""
    return max((ms for kind, ms, _ in told.steps if kind == DECODE), default=0.0)


def over_limits(told: Told) -> list[float]:
    """What steps took, over what they were to keep within."""
    return [ms / limit for _, ms, limit in told.steps[FIRST_STEPS:] if limit > 0]


def rate_error_pct(told: Told, target: float) -> float:
    """How far the mean pace is off, of the stream where it is worst."""
    errors = []
    for stream in told.streams:
        (first_ns, first), (last_ns, last) = stream[0], stream[-1]
        errors.append(abs((last - first) * 1e9 / (last_ns - first_ns) / target - 1))
    return 100 * max(errors)


def deviations_ms(told: Told, target: float) -> list[float]:
    """Of each token from when it was due, were the first one in time."""
    return [
        abs((ns - stream[0][0]) / 1e6 - (tokens - stream[0][1]) * 1e3 / target)
        for stream in told.streams
        for ns, tokens in stream
    ]


def most_gap(told: Told, since_ns: int) -> float:
    """The longest silence from then on, in seconds a token."""
    gaps = [
        (then_ns - ns) / 1e9 / (after - before)
        for stream in told.streams
        for (ns, before), (then_ns, after) in pairwise(stream)
        if then_ns >= since_ns
    ]
    return max(gaps)


def most_rate(told: Told, since_ns: int, seconds: float) -> float:
    """The highest pace over a few tokens, of those that came so soon after."""
    rates = []
    for stream in told.since(since_ns):
        soon = [one for one in stream if one[0] <= since_ns + seconds * 1e9]
        for (ns, before), (then_ns, after) in zip(soon, soon[SPAN:], strict=False):
            rates.append((after - before) / ((then_ns - ns) / 1e9 + POLL_S))
    return max(rates)


def tokens_until_new_pace(told: Told, target: float) -> int | None:
    """How many tokens come after a change of target before a few come as it says, where it is worst."""
    found = []
    for stream in told.streams:
        gaps = [
            (then_ns - ns) / 1e9 / (after - before)
            for (ns, before), (then_ns, after) in pairwise(stream)
            if then_ns >= told.began_ns
        ]
        near = [abs(gap * target - 1) <= NEAR for gap in gaps]
        found.append(next((at for at in range(len(near)) if all(near[at : at + SPAN])), None))
    return None if None in found else max(at for at in found if at is not None)
