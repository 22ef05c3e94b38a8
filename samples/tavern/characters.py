"""The four characters: where they stand, what they look like, and the line that each of them speaks."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

from cast import Cast
from figures import Look
from moods import MOODS
from paint import Point

import sotto
from sotto.demo.personas import Persona, tavern

CANCELLED = "cancelled"
PAUSE = 2.6  # seconds between an answer and the visitor's next question
PLAYER_PAUSE = 12.0  # the same after a question of the player


@dataclass(frozen=True)
class Spot:
    """A character's place in the room: the middle of the face, and the middle of the bubble."""

    called: str
    look: Look
    face: Point
    bubble: float
    plaque: Point
    tall: float  # from the middle of the face to the tip of the bubble, before zoom
    starts: float  # seconds from the load to the visitor's first question


SPOTS = (
    Spot(
        called="Brenna",
        look=Look(
            style="bun",
            skin=(236, 184, 146),
            hair=(150, 70, 34),
            cloth=(128, 44, 40),
            trim=(224, 206, 172),
            eyes=(88, 118, 62),
            lit_from=1,
            zoom=1.0,
        ),
        face=(208, 338),
        bubble=190,
        plaque=(196, 590),
        tall=84,
        starts=0.6,
    ),
    Spot(
        called="Garrick",
        look=Look(
            style="beard",
            skin=(206, 150, 112),
            hair=(64, 42, 32),
            cloth=(74, 82, 94),
            trim=(96, 60, 36),
            eyes=(84, 60, 40),
            lit_from=1,
            zoom=1.04,
        ),
        face=(468, 396),
        bubble=470,
        plaque=(474, 590),
        tall=66,
        starts=2.0,
    ),
    Spot(
        called="Pip",
        look=Look(
            style="tousled",
            skin=(244, 200, 164),
            hair=(206, 140, 62),
            cloth=(92, 64, 42),
            trim=(60, 104, 96),
            eyes=(70, 110, 140),
            lit_from=-1,
            zoom=0.86,
        ),
        face=(842, 420),
        bubble=806,
        plaque=(842, 590),
        tall=78,
        starts=3.4,
    ),
    Spot(
        called="Silvane",
        look=Look(
            style="hood",
            skin=(224, 180, 150),
            hair=(38, 33, 44),
            cloth=(70, 58, 104),
            trim=(196, 158, 88),
            eyes=(108, 86, 150),
            lit_from=-1,
            zoom=1.0,
        ),
        face=(1116, 392),
        bubble=1110,
        plaque=(1118, 590),
        tall=84,
        starts=1.2,
    ),
)


@dataclass
class Line:
    """A question and its answer, with what the engine measured. `tps`: tokens per second of the speech."""

    character: str
    question: str
    by_player: bool
    asked_s: float  # seconds since the first frame
    answer: str = ""
    mood: str = ""
    error: str = ""
    tokens: int = 0
    first_ms: float = 0.0
    tps: float = 0.0

    def report(self) -> dict[str, Any]:
        """Returns the line as a JSON object."""
        return asdict(self)


@dataclass
class Speech:
    """An answer that is arriving as a JSON decision."""

    line: Line
    request: int
    asked: float
    decision: str = ""
    said: bool = False  # its words are complete
    words_at: float = 0.0  # when the last words came
    first: float = 0.0
    first_tokens: int = 0


@dataclass
class Character:
    """A character that answers one question at a time."""

    number: int
    spot: Spot
    persona: Persona
    mood: str
    waiting: deque[tuple[str, bool]] = field(default_factory=deque)  # question; True: of the player
    speech: Speech | None = None
    next_visit: float = 0.0
    visits: int = 0

    @property
    def title(self) -> str:
        """Name and trade."""
        return f"{self.spot.called}, {self.persona.about('Role')}"

    def ask(self, cast: Cast, text: str, *, player: bool) -> None:
        """Queues a question. The player's question interrupts what the character says."""
        if player:
            self.waiting.clear()
            if self.speech is not None:
                cast.cancel(self.speech.request)
        self.waiting.append((text, player))

    def start(self, cast: Cast, now: float) -> Speech | None:
        """Submits the next question, if the character is silent. Returns the new speech, or None."""
        if self.speech is not None or not self.waiting:
            return None
        text, player = self.waiting.popleft()
        line = Line(self.spot.called, text, player, round(now, 3))
        self.speech = Speech(line, cast.ask(self.number, text, player=player), now)
        return self.speech

    def hear(self, cast: Cast, event: sotto.Event, now: float) -> Line | None:
        """Handles an event of this character's answer. Returns the line when it is complete."""
        speech = self.speech
        if speech is None or event.request != speech.request:
            return None
        if event.kind == "text":
            self._more(cast, speech, event, now)
        elif event.kind == "request_done":
            return self._done(cast, speech, event, now)
        return None

    def _more(self, cast: Cast, speech: Speech, event: sotto.Event, now: float) -> None:
        speech.decision += event.text
        speech.line.tokens = event.tokens
        if not speech.first:
            speech.first, speech.first_tokens = now, event.tokens
            speech.line.first_ms = round((now - speech.asked) * 1000, 1)
        elif now > speech.first:
            speech.line.tps = round((event.tokens - speech.first_tokens) / (now - speech.first), 2)
        if not speech.said:
            say = cast.field(speech.decision, "say")
            if say.text != speech.line.answer:
                speech.words_at = now
            speech.line.answer, speech.said = say.text, say.complete

    def _done(self, cast: Cast, speech: Speech, event: sotto.Event, now: float) -> Line:
        line = speech.line
        if event.status < 0:
            line.error = CANCELLED if event.status == sotto.Status.CANCELLED else event.error
        emotion = cast.field(speech.decision, "emotion").text
        if emotion in MOODS:
            self.mood = line.mood = emotion
        self.speech = None
        self.next_visit = now + (PLAYER_PAUSE if line.by_player else PAUSE)
        return line


def everybody() -> list[Character]:
    """Returns the characters, in the order of the room. Their sheets are those of `sotto demo`."""
    sheets = {persona.called: persona for persona in tavern().personas}
    out = []
    for number, spot in enumerate(SPOTS):
        persona = sheets[spot.called]
        one = Character(number, spot, persona, persona.about("Mood"))
        one.next_visit = spot.starts
        out.append(one)
    return out
