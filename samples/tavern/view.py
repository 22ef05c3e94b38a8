"""What the window shows: builds the pictures once, and puts a frame together from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pygame
import room
from bubbles import Bubble, Paper
from canvas import Canvas
from cast import Cast
from characters import Character
from graph import Graph
from lights import Lights
from meter import Meter
from paint import Point
from panel import Card, Panel, Plaques
from portrait import Portrait

BUBBLES = pygame.Rect(6, 8, room.WIDTH - 12, room.SCENE)
HELP = (
    "Type a line and press Enter. The character whose name is lit answers. Tab, the arrow keys or a click "
    'choose another one, and so does its name: "Pip, what did you see?"',
    "",
    "F2: mode, what comes first when the machine is busy",
    "F3, F4: slower and faster speech",
    "F5, F6: less and more memory for the model",
    "F7: the visitor, who asks questions by herself",
    "F8: silence everybody",
    "F9, F10: save and load; start with --saves FOLDER for it, and everybody remembers what you say",
)


@dataclass
class State:
    """What the player sees of the game, beside characters and settings."""

    visitor: bool = True  # the visitor asks questions
    alone: bool = False  # there is no engine
    saves: bool = False  # the game can be saved
    selected: int = 0  # number of the character that the player chose
    asked: int = 0  # number of the character that the typed line goes to
    typed: str = ""
    help: bool = False
    notice: str = ""  # what became of the last save game


class View:
    """The room, its characters, their bubbles and the panel."""

    def __init__(self, screen: pygame.Surface, characters: Sequence[Character]) -> None:
        self._characters = characters
        spots = [one.spot for one in characters]
        self._portraits = [Portrait(one) for one in characters]
        self._panel, self._card, self._graph = Panel(), Card(), Graph()
        self._plaques = Plaques([one.title for one in characters], [spot.plaque for spot in spots])
        paper = Paper()
        tips = [(spot.face[0], spot.face[1] - spot.tall * spot.look.zoom) for spot in spots]
        self.bubbles = [
            Bubble(paper, tip, spot.bubble, BUBBLES) for tip, spot in zip(tips, spots, strict=True)
        ]
        self._lights = Lights(room.HEARTH, room.CANDLES, room.WINDOW)
        background = pygame.Surface(room.SIZE, 0, 32)
        room.paint(background, self._portraits)
        self._panel.paint(background)
        self._canvas = Canvas(screen, background)
        self._loading("load", 0.0, "")  # draws the card's shadow before the first frame

    def draw(self, now: float, meter: Meter, cast: Cast, state: State) -> None:
        """Draws a frame at a time in seconds."""
        canvas, tick = self._canvas, meter.frames
        canvas.begin()
        for picture, place in self._lights.behind(tick):
            canvas.draw(picture, place, pygame.BLEND_RGB_ADD)
        for one, portrait in zip(self._characters, self._portraits, strict=True):
            for picture, place in portrait.pictures(now, self._gaze(one)):
                canvas.draw(picture, place)
        for picture, place in self._lights.before(tick):
            canvas.draw(picture, place, pygame.BLEND_RGB_ADD)
        for one in self._characters:
            canvas.draw(*self._plaques.picture(one.number, one.number == state.asked))
        for bubble in self.bubbles:
            for picture, place in bubble.pictures(now):
                canvas.draw(picture, place, version=bubble.alpha)
        self._draw_panel(now, meter, cast, state)
        self._draw_card(cast, state)
        canvas.end()

    def _draw_panel(self, now: float, meter: Meter, cast: Cast, state: State) -> None:
        settings, canvas = cast.settings, self._canvas
        name = self._characters[state.asked].spot.called
        canvas.draw(*self._panel.input(name, state.typed, now % 1.0 < 0.5))
        pace = f"{settings.target_tps:g} tokens/s" if settings.target_tps else "as fast as it can"
        budget = f"{settings.budget_mb} MB" if settings.budget_mb else "no limit"
        values = [
            ("F2", "mode", settings.mode.replace("prioritize_", "")),
            ("F3 F4", "pace", pace),
            ("F5 F6", "memory", budget),
            ("F7", "visitor", "asks" if state.visitor else "is silent"),
        ]
        if state.saves:
            values.append(("F9 F10", "save, load", state.notice))
        canvas.draw(*self._panel.settings(values))
        self._graph.update(meter, cast.stats() if self._graph.due else None)
        for picture, place, version in self._graph.pictures():
            canvas.draw(picture, place, version=version)

    def _draw_card(self, cast: Cast, state: State) -> None:
        if state.help:
            self._canvas.draw(*self._card.picture("The Kettle and Crow", HELP))
        elif cast.failure:
            lines = [cast.failure, "", "Escape leaves."]
            self._canvas.draw(*self._card.picture("The characters cannot speak", lines))
        elif not cast.ready and not state.alone:
            self._canvas.draw(*self._loading(*cast.progress, cast.settings.model))

    def _loading(self, stage: str, part: float, model: str) -> tuple[pygame.Surface, Point]:
        doing = "Downloading" if stage == "download" else "Loading"
        return self._card.picture(f"{doing} the model", [model], part=round(part, 2))

    def _gaze(self, one: Character) -> int:
        """Returns where a character looks: to the character that speaks, or at the player."""
        if one.speech is not None:
            return 0
        speakers = [other for other in self._characters if other.speech is not None and other.speech.first]
        if not speakers:
            return 0
        return 1 if speakers[0].spot.face[0] > one.spot.face[0] else -1
