"""The characters of the tavern: sheets in the house model's format, and scripted questions about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Question:
    """A visitor's question, and the words of the character sheet that a right answer contains, if any."""

    text: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Persona:
    """A character: its sheet, and questions that the sheet answers."""

    name: str
    called: str
    system: str
    script: tuple[Question, ...]

    @property
    def questions(self) -> list[str]:
        """Texts of the scripted questions."""
        return [question.text for question in self.script]

    def about(self, title: str) -> str:
        """Returns the text of the sheet's line with this title, such as "Role", or an empty string."""
        found = (line.partition(": ") for line in self.system.splitlines())
        return next((rest for name, _, rest in found if name == title), "")


@dataclass(frozen=True)
class Tavern:
    """The tavern: its place, the time, the visitor and all characters."""

    place: str
    time: str
    visitor: str
    personas: tuple[Persona, ...]


@cache
def tavern() -> Tavern:
    """Returns the tavern that comes with the package."""
    found = json.loads(Path(__file__).with_name("tavern.json").read_text(encoding="utf-8"))
    head = [f"Place: {found['place']}", f"Time: {found['time']}"]
    people = tuple(_persona(one, head, found["visitor"]) for one in found["characters"])
    return Tavern(found["place"], found["time"], found["visitor"], people)


def personas() -> list[Persona]:
    """Returns all characters of the tavern."""
    return list(tavern().personas)


def find(wanted: str, names: Sequence[str]) -> int | None:
    """Returns the index of the name that matches `wanted`, ignoring case, or None.

    Order: the full name, then a word of a name, then the start of a name or of one of its words.
    """
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
