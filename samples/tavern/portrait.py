"""How a character looks at a moment: expression, gaze, blinking, and a mouth that moves while it speaks."""

from __future__ import annotations

import random

import figures
import pygame
from bubbles import wobble
from characters import Character
from moods import LISTENING, MOODS, THINKING, Expression
from paint import Point

import faces

TURN = 0.36  # seconds from one expression to another
BLINK = 0.06  # seconds of each half of a blink
LISTENS = 0.3  # seconds after a question in which a character only listens
TALKING = 0.22  # seconds that the mouth moves after the last words


class Portrait:
    """The moving head of a character. Its body is part of the background."""

    def __init__(self, character: Character) -> None:
        self._character = character
        look = character.spot.look
        self._look, self._head = look, figures.paint_head(look)
        self._from = self._to = MOODS[character.mood]
        self._turned = 0.0
        self._eyes_now: tuple[tuple[Expression, int, int], pygame.Surface] | None = None
        self._mouth_now: tuple[tuple[Expression, int], pygame.Surface] | None = None
        self._chance = random.Random(character.number)
        self._blink_at = 1.0 + character.number * 0.7
        for mood in MOODS.values():  # drawn now, so that frames find them
            for gaze in (-1, 0, 1):
                faces.eyes(look, mood, gaze, 0)
            for gape in range(faces.GAPES + 1):
                faces.mouth(look, mood, gape)

    def paint_body(self, target: pygame.Surface) -> None:
        """Draws the body, which does not move."""
        target.blit(figures.paint_body(self._look), self._place(figures.BODY_ORIGIN))

    def pictures(self, now: float, gaze: int) -> list[tuple[pygame.Surface, Point]]:
        """Returns head, eyes and mouth with their places. `gaze`: -1 to 1, where the character looks."""
        speech = self._character.speech
        talking = speech is not None and speech.first > 0 and not speech.said
        self._turn(self._wanted(now), now)
        part = min(1.0, (now - self._turned) / TURN)
        step = round(part * faces.STEPS) / faces.STEPS
        face = self._from.towards(self._to, step)
        gape = 0
        if talking and speech is not None:
            energy = max(0.0, 1 - (now - speech.words_at) / TALKING)
            gape = faces.speech_gape(now - speech.first, energy)
        up = wobble(now - speech.first) if talking and speech is not None else 0.0
        return [
            (self._head, self._place(figures.HEAD_ORIGIN, up)),
            (self._eyes(face, gaze, self._blink(now)), self._place(faces.EYES_ORIGIN, up)),
            (self._mouth(face, gape), self._place(faces.MOUTH_ORIGIN, up)),
        ]

    def _eyes(self, face: Expression, gaze: int, blink: int) -> pygame.Surface:
        if self._eyes_now is None or self._eyes_now[0] != (face, gaze, blink):
            self._eyes_now = (face, gaze, blink), faces.eyes(self._look, face, gaze, blink)
        return self._eyes_now[1]

    def _mouth(self, face: Expression, gape: int) -> pygame.Surface:
        if self._mouth_now is None or self._mouth_now[0] != (face, gape):
            self._mouth_now = (face, gape), faces.mouth(self._look, face, gape)
        return self._mouth_now[1]

    def _wanted(self, now: float) -> Expression:
        speech = self._character.speech
        if speech is not None and not speech.first:
            return LISTENING if now - speech.asked < LISTENS else THINKING
        return MOODS[self._character.mood]

    def _turn(self, wanted: Expression, now: float) -> None:
        if wanted is not self._to:
            part = min(1.0, (now - self._turned) / TURN)
            self._from = self._from.towards(self._to, round(part * faces.STEPS) / faces.STEPS)
            self._to, self._turned = wanted, now

    def _blink(self, now: float) -> int:
        since = now - self._blink_at
        if since > 3 * BLINK:
            self._blink_at = now + self._chance.uniform(1.6, 5.0)
        if since < 0:
            return 0
        return 2 if BLINK <= since < 2 * BLINK else 1

    def _place(self, origin: Point, up: float = 0.0) -> Point:
        x, y = self._character.spot.face
        zoom = self._look.zoom
        return round(x - origin[0] * zoom), round(y - origin[1] * zoom - up)
