"""Input: the line that the player types, and the keys that change settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pygame
from typeset import clean

from sotto.demo.personas import find
from sotto.mode import Mode

LONGEST = 400  # characters of a typed line
MODES: tuple[Mode, ...] = ("balance", "prioritize_graphics", "prioritize_compute")
PACES = (6, 12, 18, 24, 36, 48, 96, 0)  # tokens per second; 0: no pacing
BUDGETS = (48, 64, 80, 100, 150, 250, 0)  # MB; 0: no limit


def step(values: Sequence[float], value: float, by: int) -> float:
    """Returns the neighbour of `value`, which need not be in the list; the ends stay where they are."""
    if value in values:
        place = values.index(value)
    else:
        place = min(range(len(values) - 1), key=lambda number: abs(values[number] - value))
    return values[max(0, min(len(values) - 1, place + by))]


class InputLine:
    """The line that the player types."""

    def __init__(self) -> None:
        self.text = ""

    def type(self, text: str) -> None:
        """Appends text, as far as the line has room. Drops control characters."""
        self.text = (self.text + clean(text))[:LONGEST]

    def erase(self) -> None:
        """Removes the last character."""
        self.text = self.text[:-1]

    def take(self) -> str:
        """Returns the line and empties it."""
        text, self.text = self.text.strip(), ""
        return text


def addressed(text: str, names: Sequence[str]) -> tuple[int | None, str]:
    """Splits "Brenna, who are you?" into the number of a name and the rest. No name: None and the text."""
    name, comma, rest = text.partition(",")
    number = find(name, names) if comma and " " not in name.strip() else None
    return (None, text) if number is None or not rest.strip() else (number, rest.strip())


class Keys:
    """Calls a function for each key that has one."""

    def __init__(self, line: InputLine, actions: dict[int, Callable[[], None]]) -> None:
        self._line, self._actions = line, actions

    def handle(self, event: pygame.event.Event) -> None:
        """Handles a key or typed text."""
        if event.type == pygame.TEXTINPUT:
            self._line.type(event.text)
        elif event.type == pygame.KEYDOWN:
            if event.key == pygame.K_BACKSPACE:
                self._line.erase()
            elif event.key == pygame.K_u and event.mod & pygame.KMOD_CTRL:
                self._line.take()
            elif event.key == pygame.K_v and event.mod & pygame.KMOD_CTRL:
                self._line.type(pygame.scrap.get_text())
            elif event.key in self._actions:
                self._actions[event.key]()
