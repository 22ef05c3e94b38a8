"""The panel below the room: the input line, the settings with their keys, and cards over the room."""

from __future__ import annotations

from collections.abc import Sequence

import pygame
from paint import Colour, Layer, Point, gradient, shadow
from room import HEIGHT, SCENE, WIDTH
from typeset import SANS, SERIF, Typeset

TEXT: Colour = (238, 222, 192)
DIM: Colour = (168, 144, 114)
GOLD: Colour = (238, 190, 98)
INPUT = pygame.Rect(14, 628, 824, 36)
SETTINGS: Point = (16, 672)
HELP: Point = (16, 695)
HELP_TEXT = (
    "Tab or click: choose a character    Enter: speak    F1: help    F12: save a picture    Esc: leave"
)
CARD_WIDTH = 460


class Kept:
    """A picture of text that is drawn anew only when the text changes."""

    def __init__(self) -> None:
        self._key: object = None
        self.picture = pygame.Surface((1, 1), pygame.SRCALPHA)

    def stale(self, key: object) -> bool:
        """Returns True if the picture has to be drawn anew for `key`."""
        changed = key != self._key
        self._key = key
        return changed


class Panel:
    """Draws the panel."""

    def __init__(self) -> None:
        self._input_font, self._font = Typeset(SERIF, 18), Typeset(SANS, 13)
        self._line, self._settings = Kept(), Kept()

    def paint(self, target: pygame.Surface) -> None:
        """Draws the part that does not change."""
        back = gradient((WIDTH, HEIGHT - SCENE), [(46, 30, 22), (24, 16, 14)])
        target.blit(back, (0, SCENE))
        target.fill((120, 82, 46), (0, SCENE, WIDTH, 2))
        layer = Layer((INPUT.width, INPUT.height))
        layer.rect((120, 82, 46), 0, 0, *INPUT.size, 9)
        layer.rect((30, 20, 17), 1.5, 1.5, INPUT.width - 3, INPUT.height - 3, 8)
        target.blit(layer.done(), INPUT.topleft)
        target.blit(self._font.render(HELP_TEXT, DIM), HELP)

    def input(self, name: str, typed: str, caret: bool) -> tuple[pygame.Surface, Point]:
        """Returns the input line: the name of the asked character, and what is typed so far."""
        if self._line.stale((name, typed, caret)):
            picture = pygame.Surface((INPUT.width - 20, INPUT.height - 8), pygame.SRCALPHA)
            label = self._input_font.render(f"To {name}:  ", GOLD)
            words = self._input_font.render(typed or "type a line ...", TEXT if typed else DIM)
            room = picture.get_width() - label.get_width() - 6
            shown = words.subsurface(
                (max(0, words.get_width() - room), 0, min(room, words.get_width()), words.get_height())
            )
            y = (picture.get_height() - label.get_height()) // 2
            picture.blit(label, (0, y))
            picture.blit(shown, (label.get_width(), y))
            if caret:
                x = label.get_width() + (shown.get_width() + 1 if typed else 0)
                picture.fill(GOLD, (x, 4, 2, 20))
            self._line.picture = picture
        return self._line.picture, (INPUT.left + 12, INPUT.top + 4)

    def settings(self, values: Sequence[tuple[str, str, str]]) -> tuple[pygame.Surface, Point]:
        """Returns the settings: for each its keys, its name and its value."""
        if self._settings.stale(tuple(values)):
            picture = pygame.Surface((820, 20), pygame.SRCALPHA)
            x = 0
            for keys, name, value in values:
                for text, colour in ((keys, GOLD), (f"  {name} ", DIM), (value, TEXT)):
                    part = self._font.render(text, colour)
                    picture.blit(part, (x, 0))
                    x += part.get_width()
                x += 34
            self._settings.picture = picture
        return self._settings.picture, SETTINGS


class Card:
    """A sheet of parchment in the middle of the room, for help, loading and errors."""

    def __init__(self) -> None:
        self._title, self._text = Typeset(SERIF, 22, bold=True), Typeset(SERIF, 16)
        self._kept = Kept()

    def picture(
        self, title: str, lines: Sequence[str], *, part: float | None = None
    ) -> tuple[pygame.Surface, Point]:
        """Returns a card with a title and lines of text. `part`: progress from 0 to 1, or no bar."""
        if self._kept.stale((title, tuple(lines), part)):
            self._kept.picture = self._paint(title, lines, part)
        wide, tall = self._kept.picture.get_size()
        return self._kept.picture, ((WIDTH - wide) // 2, (SCENE - tall) // 2)

    def _paint(self, title: str, lines: Sequence[str], part: float | None) -> pygame.Surface:
        wrapped = [one for line in lines for one in (self._text.wrap(line, CARD_WIDTH - 60) or [""])]
        size = CARD_WIDTH, 84 + self._text.height * len(wrapped) + (24 if part is not None else 0)
        soft, margin = shadow(size, 16, 150), 16
        picture = pygame.Surface(soft.get_size(), pygame.SRCALPHA)
        picture.blit(soft, (0, 4))
        layer = Layer(size)
        layer.rect((120, 82, 46), 0, 0, *size, 14)
        layer.rect((250, 238, 210), 2, 2, size[0] - 4, size[1] - 4, 12)
        picture.blit(layer.done(), (margin, margin))
        picture.blit(self._title.render(title, (110, 52, 28)), (margin + 30, margin + 20))
        y = margin + 58
        for line in wrapped:
            picture.blit(self._text.render(line, (62, 40, 28)), (margin + 30, y))
            y += self._text.height
        if part is not None:
            bar = pygame.Rect(margin + 30, y + 8, CARD_WIDTH - 60, 8)
            pygame.draw.rect(picture, (214, 190, 150), bar, border_radius=4)
            bar.width = round(bar.width * max(0.0, min(1.0, part)))
            pygame.draw.rect(picture, (178, 92, 42), bar, border_radius=4)
        return picture


class Plaques:
    """The names below the characters. The one that the player asks is lit."""

    def __init__(self, names: Sequence[str], places: Sequence[Point]) -> None:
        font = Typeset(SERIF, 14)
        self._places = places
        self._pictures = [[self._paint(font, name, lit) for lit in (False, True)] for name in names]

    def picture(self, number: int, lit: bool) -> tuple[pygame.Surface, Point]:
        """Returns the plaque of a character and its place."""
        picture, (x, y) = self._pictures[number][lit], self._places[number]
        return picture, (x - picture.get_width() // 2, y - picture.get_height() // 2)

    @staticmethod
    def _paint(font: Typeset, name: str, lit: bool) -> pygame.Surface:
        words = font.render(name, (40, 22, 14) if lit else (226, 200, 158))
        size = words.get_width() + 28, words.get_height() + 8
        layer = Layer(size)
        layer.rect((252, 226, 160) if lit else (120, 84, 48), 0, 0, *size, 7)
        layer.rect((228, 176, 88) if lit else (58, 38, 26), 1.5, 1.5, size[0] - 3, size[1] - 3, 6)
        picture = layer.done()
        picture.blit(words, (14, 4))
        return picture
