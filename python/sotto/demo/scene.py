"""Who sits in the tavern, what the visitor asks them, and what they have said."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from ..engine import Engine
from ..event import Event
from .personas import personas

PAUSE = 0.8  # seconds between a character's answer and the next question
MAX_TOKENS = 64


@dataclass
class Character:
    """One character: asked one question after the other, and heard through events."""

    number: int
    name: str
    system: str
    questions: list[str]
    lines: list[dict[str, str]] = field(default_factory=list)
    speaking: str | None = None
    question: str = ""
    tokens: int = 0
    seconds: float = 0.0
    first_ms: list[float] = field(default_factory=list)
    ask_at: float = 0.0
    request: int = 0
    _asked: float = 0.0
    _first: float = 0.0

    def next_request(self, model: str) -> dict[str, Any]:
        """The next question, as an OpenAI chat request."""
        self.question = self.questions[len(self.lines) % len(self.questions)]
        return {
            "model": model,
            "max_tokens": MAX_TOKENS,
            "temperature": 0.2,
            "top_p": 0.9,
            "messages": [
                {"role": "system", "content": self.system},
                {"role": "user", "content": self.question},
            ],
        }

    def asked(self, request: int, now: float) -> None:
        """The question is under way."""
        self.request, self.speaking, self._asked, self._first = request, "", now, 0.0

    def hears(self, event: Event, now: float) -> str | None:
        """Takes an event of this character's. Returns the line, once it is whole."""
        if event.kind == "text":
            if not self._first:
                self._first = now
                self.first_ms.append((now - self._asked) * 1000)
            self.speaking = (self.speaking or "") + event.text
        if event.kind != "done":
            return None
        line = (self.speaking or "").strip() if event.status >= 0 else f"({event.text})"
        self.tokens += event.tokens
        self.seconds += max(0.0, now - self._first) if self._first else 0.0
        self.lines.append({"question": self.question, "answer": line})
        self.speaking, self.ask_at = None, now + PAUSE
        return line

    def report(self) -> dict[str, Any]:
        """What the summary says of this character."""
        spoken = self.tokens - len(self.lines)  # a first token takes no time to speak
        ordered = sorted(self.first_ms)
        return {
            "name": self.name,
            "lines": self.lines,
            "tokens": self.tokens,
            "tps": round(spoken / self.seconds, 2) if self.seconds > 0 and spoken > 0 else 0.0,
            "ttft_ms": round(ordered[len(ordered) // 2], 2) if ordered else None,
        }


class Scene:
    """The characters and the visitor. `begin_frame()` is all the game does about them."""

    def __init__(self, engine: Engine, model: str, count: int) -> None:
        self.engine, self.model = engine, model
        sheets = personas()
        self.characters = []
        for number in range(count):
            sheet, round_ = sheets[number % len(sheets)], number // len(sheets)
            name = sheet.name + (f" {round_ + 1}" if round_ else "")
            self.characters.append(Character(number, name, sheet.system, sheet.questions))
        self.spoken: list[tuple[Character, str]] = []

    def begin_frame(self) -> None:
        """Drains what happened since the last frame, and lets the visitor ask who is silent."""
        now = time.perf_counter()
        for event in self.engine.events():
            character = self.characters[event.user]
            line = character.hears(event, now)
            if line is not None:
                self.spoken.append((character, line))
        for character in self.characters:
            if character.speaking is None and now >= character.ask_at:
                asked = character.next_request(self.model)
                character.asked(self.engine.submit("chat", asked, user=character.number), now)

    def hush(self) -> None:
        """Ends what is being said, and waits until it is. Half a line is no line."""
        speaking = {c.request: c for c in self.characters if c.speaking is not None}
        for request in speaking:
            self.engine.cancel(request)
        while speaking and self.engine.wait(1.0):
            for event in self.engine.events():
                if event.kind == "done" and (character := speaking.pop(event.request, None)):
                    character.speaking = None
                    character.tokens += event.tokens

    def take_spoken(self) -> list[tuple[Character, str]]:
        """The lines that became whole since last asked."""
        spoken, self.spoken = self.spoken, []
        return spoken
