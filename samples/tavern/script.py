"""Drives the window from a file: each line is a time in seconds, then what to do at that time.

    0.0 load
    1.0 type Brenna, how much is stew?
    1.2 key return
    2.0 click 468 400
    4.0 shot picture.png
    9.0 close

Names of keys are pygame's: return, tab, escape, f2. `load` waits until the model is loaded, or cannot be;
`wait` waits until no character speaks; later times count from then. `shot` saves a picture. Everything else
becomes an event of the window, so that it takes the way of a real key.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pygame

VERBS = ("type", "key", "click", "shot", "load", "wait", "close")


class Script:
    """The lines of a script that are still to come."""

    def __init__(self, text: str, shot: Callable[[str], None]) -> None:
        self._shot = shot
        lines = enumerate(text.splitlines(), 1)
        self._steps = deque(self._parse(number, line) for number, line in lines if line.strip())
        self._began = 0.0

    @classmethod
    def read(cls, path: Path, shot: Callable[[str], None]) -> Script:
        """Reads a script. `shot` saves a picture."""
        return cls(path.read_text(encoding="utf-8"), shot)

    def run(self, seconds: float, *, loaded: bool, quiet: bool) -> None:
        """Does what is due `seconds` after the first frame. `loaded`: `load` may end.

        `quiet`: `wait` may end.
        """
        while self._steps and self._steps[0][0] <= seconds - self._began:
            _, verb, rest = self._steps[0]
            if verb in ("load", "wait"):
                if not (loaded if verb == "load" else quiet):
                    return
                self._began = seconds
            self._steps.popleft()
            self._do(verb, rest)

    def _do(self, verb: str, rest: str) -> None:
        if verb == "type":
            pygame.event.post(pygame.event.Event(pygame.TEXTINPUT, text=rest))
        elif verb == "key":
            key = {"key": pygame.key.key_code(rest), "mod": 0, "unicode": "", "scancode": 0}
            pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key))
            pygame.event.post(pygame.event.Event(pygame.KEYUP, key))
        elif verb == "click":
            place = tuple(int(part) for part in rest.split())
            pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, pos=place, button=1))
        elif verb == "close":
            pygame.event.post(pygame.event.Event(pygame.QUIT))
        elif verb == "shot":
            self._shot(rest)

    @staticmethod
    def _parse(number: int, line: str) -> tuple[float, str, str]:
        when, _, what = line.strip().partition(" ")
        verb, _, rest = what.strip().partition(" ")
        try:
            seconds = float(when)
        except ValueError:
            raise ValueError(f"invalid time '{when}' in line {number}: expected seconds") from None
        if verb not in VERBS:
            raise ValueError(f"invalid step '{verb}' in line {number}: expected {', '.join(VERBS)}")
        if verb == "click" and not re.fullmatch(r"\d+ +\d+", rest):
            raise ValueError(f"invalid place '{rest}' in line {number}: expected x and y")
        if verb == "key":
            pygame.key.key_code(rest)  # raises ValueError for an unknown key
        return seconds, verb, rest
