"""What players do: sessions, turns, think times, and the number of players over a day."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Traffic:
    """The behaviour of players. Lengths are in tokens."""

    think_s: float = 30.0  # mean time from the end of an answer to the next line
    pace_tps: float = 12.0  # tokens per second of an answer
    line: tuple[int, int] = (15, 45)  # range of what a player says
    answer: tuple[int, int] = (30, 90)  # range of an answer
    shared: int = 400  # of the prompt, the same for all characters
    first: int = 900  # context of a session's first turn
    limit: int = 3500  # context above which the oldest turns are dropped
    kept: float = 0.6  # share of the limit that stays then
    turns: float = 25.0  # mean number of turns of a session
    patience_s: float = 30.0  # wait after which a request ends with an error

    @property
    def mean_answer(self) -> float:
        return sum(self.answer) / 2

    @property
    def cycle_s(self) -> float:
        """Mean time from one line of a player to the next, without waits."""
        return self.think_s + self.mean_answer / self.pace_tps


@dataclass(frozen=True)
class Turn:
    """A request of a player."""

    context: int  # tokens of the prompt, the new ones included
    novel: int  # of them never processed before
    answer: int


class Player:
    """A session of a player. `age` counts the times at which its older KV caches became useless."""

    __slots__ = ("age", "busy", "context", "home", "key")

    def __init__(self, chance: Random, traffic: Traffic) -> None:
        self.context = chance.randint(traffic.first, traffic.limit)
        self.key = chance.random()
        self.age = 0
        self.busy = False
        self.home = -1  # index of the node that the ring gives

    def say(self, chance: Random, traffic: Traffic) -> Turn:
        """Says a line: the next turn, the first one of a new session, or one that no longer fits."""
        line = _between(chance, traffic.line)
        answer = _between(chance, traffic.answer)
        if chance.random() * traffic.turns < 1:
            self.age += 1
            self.context = traffic.first
            return Turn(self.context, self.context - traffic.shared, answer)
        self.context += line
        if self.context + answer > traffic.limit:
            self.age += 1
            self.context = int(traffic.kept * traffic.limit)
        return Turn(self.context, line, answer)


def _between(chance: Random, bounds: tuple[int, int]) -> int:
    """A whole number of a range, both ends included; three times as fast as randint()."""
    return bounds[0] + int(chance.random() * (bounds[1] - bounds[0] + 1))


# Few tokens, for small models on processors: the sizes of many_npcs.py, 440 tokens of prompt and 2,048 of
# context.
SHORT = Traffic(line=(10, 30), answer=(20, 60), first=440, limit=2048, kept=0.5, turns=15.0)
LONG = Traffic()


def _wave(hour: float) -> float:
    turn = 2 * math.pi / 24
    return math.cos(turn * (hour - 20.0)) + 0.25 * math.cos(2 * turn * (hour - 22.5))


LOW, HIGH = (choose(_wave(minute / 60) for minute in range(1440)) for choose in (min, max))


def day_curve(hour: float) -> float:
    """Players at an hour of the day, as a share of the peak: from 0.30 in the morning to 1.0 in the evening.

    Two harmonics: the shape of a day in one region. Not measured; a studio replaces it by its own.
    """
    return 0.30 + 0.70 * (_wave(hour) - LOW) / (HIGH - LOW)
