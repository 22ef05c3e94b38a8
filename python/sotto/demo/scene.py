"""The tavern scene: its characters, the visitor's questions and the spoken lines."""

from __future__ import annotations

import time

from ..engine import Engine
from .character import Character, Line
from .personas import Question, tavern


class Scene:
    """The characters and the visitor. The game only has to call `begin_frame()` once per frame."""

    def __init__(self, engine: Engine, model: str, count: int, *, scripted: bool = True) -> None:
        self.engine, self.model, self.scripted = engine, model, scripted
        self.tavern = tavern()
        self.characters: list[Character] = []
        sheets = self.tavern.personas
        for number in range(count):
            sheet, round_ = sheets[number % len(sheets)], number // len(sheets)
            again = f" {round_ + 1}" if round_ else ""
            one = Character(number, sheet.name + again, sheet.called + again, sheet, remembers=not scripted)
            self.characters.append(one)
        self._spoken: list[tuple[Character, Line]] = []

    @property
    def quiet(self) -> bool:
        """True if no character speaks and no question is pending."""
        return not any(one.waiting or one.speaking is not None for one in self.characters)

    def ask(self, character: Character, text: str) -> None:
        """Queues a question to a character. A character that is speaking answers it afterwards."""
        character.waiting.append(Question(text))
        character.ask_at = 0.0

    def begin_frame(self) -> None:
        """Handles the engine events since the last frame, then submits the silent characters' questions."""
        now = time.perf_counter()
        for event in self.engine.events():
            character = self.characters[event.user]
            line = character.hears(event, now)
            if line is not None:
                self._spoken.append((character, line))
        for character in self.characters:
            if character.speaking is None and now >= character.ask_at and self._wanted(character):
                asked = character.next_request(self.model)
                character.asked(self.engine.submit("chat", asked, user=character.number), now)

    def hush(self) -> None:
        """Drops pending questions, cancels all current answers, and waits until they have ended.

        Stops waiting if no event arrives for 1 s.
        """
        for character in self.characters:
            character.waiting.clear()
        speaking = {c.request: c for c in self.characters if c.speaking is not None}
        for request in speaking:
            self.engine.cancel(request)
        while speaking and self.engine.wait(1.0):
            for event in self.engine.events():
                if event.kind == "request_done" and event.request in speaking:
                    speaking.pop(event.request).falls_silent(event.tokens)

    def take_spoken(self) -> list[tuple[Character, Line]]:
        """Returns the lines that were completed since the last call."""
        spoken, self._spoken = self._spoken, []
        return spoken

    def _wanted(self, character: Character) -> bool:
        if self.scripted and not character.waiting:
            script = character.persona.script
            character.waiting.append(script[len(character.lines) % len(script)])
        return bool(character.waiting)
