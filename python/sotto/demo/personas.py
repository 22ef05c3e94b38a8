"""Who sits in the tavern: sheets in the house model's format, and what one may ask about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Question:
    """What the visitor asks, and the key words that an answer owes to the sheet: none, if it owes none."""

    text: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Persona:
    """A character: its sheet, and questions whose answers stand there."""

    name: str
    called: str
    system: str
    script: tuple[Question, ...]

    @property
    def questions(self) -> list[str]:
        """The questions alone."""
        return [question.text for question in self.script]

    def about(self, title: str) -> str:
        """What the sheet says on the line of this title, like "Role"."""
        found = (line.partition(": ") for line in self.system.splitlines())
        return next((rest for name, _, rest in found if name == title), "")


@dataclass(frozen=True)
class Tavern:
    """The place, the hour, who has come in, and everybody who is there."""

    place: str
    time: str
    visitor: str
    personas: tuple[Persona, ...]


@cache
def tavern() -> Tavern:
    """The tavern that comes with the package."""
    found = json.loads(Path(__file__).with_name("tavern.json").read_text(encoding="utf-8"))
    head = [f"Place: {found['place']}", f"Time: {found['time']}"]
    people = tuple(_persona(one, head, found["visitor"]) for one in found["characters"])
    return Tavern(found["place"], found["time"], found["visitor"], people)


def personas() -> list[Persona]:
    """All who sit there."""
    return list(tavern().personas)


def find(wanted: str, names: Sequence[str]) -> int | None:
    """Which name it is: the whole of it, or a word of it, or what it or one of its words begins with."""
    wanted = wanted.strip().casefold()
    ways: list[Callable[[str], bool]] = [
        lambda name: name == wanted,
        lambda name: wanted in name.split(),
        lambda name: any(part.startswith(wanted) for part in (name, *name.split())),
    ]
    numbers = (n for fits in ways for n, name in enumerate(names) if wanted and fits(name.casefold()))
    return next(numbers, None)


def _persona(found: dict[str, Any], head: list[str], visitor: str) -> Persona:
    lines = found["sheet"]
    first = next(place for place, line in enumerate(lines) if line.startswith("Mood:"))
    system = [f"Name: {found['name']}", *lines[:first], *head, lines[first], f"Visitor: {visitor}"]
    script = tuple(Question(one["ask"], tuple(one["facts"])) for one in found["script"])
    return Persona(found["name"], found["called"], "\n".join([*system, *lines[first + 1 :]]), script)
