"""One character: what it is asked, what it says, and what it remembers of both."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from .._hub import HOUSE
from ..event import Event
from . import rules
from .personas import Persona, Question

PAUSE = 0.8  # seconds between an answer and the visitor's next question
TEMPERATURE = 0  # a model this small says what stands in the sheet, or something else
NOTHING = Question("")


@dataclass(frozen=True)
class Line:
    """A question and its answer, whole."""

    question: Question
    answer: str
    tokens: int
    finish: str

    def report(self, character: str) -> dict[str, Any]:
        """The line, and whether it is in character and has the facts that it was asked for."""
        missing = rules.missing(self.answer, self.question.facts)
        faults = rules.faults(self.answer, self.finish, self.tokens)
        return {
            "character": character,
            "question": self.question.text,
            "answer": self.answer,
            "tokens": self.tokens,
            "facts": list(self.question.facts),
            "missing": missing,
            "uses_facts": not missing,
            "faults": faults,
            "in_character": not faults,
        }


@dataclass
class Character:
    """Asked one question after the other, and heard through events."""

    number: int
    name: str
    called: str
    persona: Persona
    remembers: bool = False  # what was said before goes with the next question
    waiting: deque[Question] = field(default_factory=deque)
    lines: list[Line] = field(default_factory=list)
    speaking: str | None = None
    question: Question = NOTHING
    tokens: int = 0  # of the lines that are whole
    seconds: float = 0.0  # that those took, from each one's first token on
    first_ms: list[float] = field(default_factory=list)
    ask_at: float = 0.0
    request: int = 0
    _turns: list[dict[str, str]] = field(default_factory=list)
    _now: int = 0  # tokens of the line that is being spoken
    _finish: str = ""
    _asked: float = 0.0
    _first: float = 0.0
    _last: float = 0.0

    def next_request(self, model: str) -> dict[str, Any]:
        """The next question that waits, as an OpenAI chat request."""
        self.question = self.waiting.popleft()
        system = {"role": "system", "content": self.persona.system}
        asked = {"role": "user", "content": self.question.text}
        return {
            "model": model,
            "max_tokens": rules.MAX_TOKENS,
            **(rules.HOUSE_SAMPLING if model == HOUSE else {"temperature": TEMPERATURE}),
            "messages": [system, *self._turns, asked],
        }

    def asked(self, request: int, now: float) -> None:
        """The question is under way."""
        self.request, self.speaking, self._asked = request, "", now
        self._first = self._last = 0.0
        self._now, self._finish = 0, ""

    def hears(self, event: Event, now: float) -> Line | None:
        """Takes an event of this character's. Returns the line, once it is whole."""
        if event.kind == "text":
            if not self._first:
                self._first = now
                self.first_ms.append((now - self._asked) * 1000)
            self._now, self._last = event.tokens, now
            self.speaking = (self.speaking or "") + event.text
        elif event.kind == "finish":
            self._finish = event.text
        elif event.kind == "done":
            return self._ends(event, now)
        return None

    def falls_silent(self, tokens: int) -> None:
        """What was being said is broken off. Half a line is no line."""
        self.speaking = None
        self.tokens += tokens

    @property
    def tps(self) -> float:
        """Tokens per second of the line that is spoken, or was last."""
        return self._rate(self._now - 1, self._last - self._first)

    def report(self) -> dict[str, Any]:
        """What the summary says of this character."""
        spoken = self.tokens - len(self.lines)  # a first token takes no time to speak
        ordered = sorted(self.first_ms)
        return {
            "name": self.name,
            "lines": [line.report(self.name) for line in self.lines],
            "tokens": self.tokens,
            "tps": self._rate(spoken, self.seconds),
            "ttft_ms": round(ordered[len(ordered) // 2], 2) if ordered else None,
        }

    def _ends(self, event: Event, now: float) -> Line:
        answer = (self.speaking or "").strip() if event.status >= 0 else f"({event.text})"
        line = Line(self.question, answer, event.tokens, self._finish)
        self.tokens += event.tokens
        self.seconds += max(0.0, now - self._first) if self._first else 0.0
        self.lines.append(line)
        if self.remembers and event.status >= 0:
            self._turns.append({"role": "user", "content": self.question.text})
            self._turns.append({"role": "assistant", "content": answer})
        self.speaking, self.ask_at = None, now + PAUSE
        return line

    @staticmethod
    def _rate(tokens: int, seconds: float) -> float:
        return round(tokens / seconds, 2) if tokens > 0 and seconds > 0 else 0.0
