"""Speech bubbles: they fill as text arrives, grow smoothly and fade out."""

from __future__ import annotations

import math

import pygame
from paint import Colour, Layer, Point, curve, shadow
from typeset import SERIF, Typeset

PAPER: Colour = (252, 243, 220)
INK: Colour = (52, 30, 20)
FADED: Colour = (134, 100, 66)
RIM: Colour = (120, 82, 46)
WIDTH = 236  # of the text
PAD = 13
MAX_LINES = 6  # the first lines of a longer answer scroll away
ROUND = 16
TAIL = (30, 20)
LARGEST = (WIDTH + 2 * PAD, 220)
MARGIN = 12  # of the shadow
READING = 0.045  # seconds that a reader needs for a character, after the last one
LINGER, FADE = 1.8, 0.7  # seconds


class Paper:
    """Fonts and paper, which all bubbles share."""

    def __init__(self) -> None:
        self.text = Typeset(SERIF, 17)
        self.question = Typeset(SERIF, 13, italic=True)
        layer = Layer(LARGEST, scale=3, edge=RIM)
        layer.rect(RIM, 0, 0, *LARGEST, ROUND)
        layer.rect(PAPER, 1.8, 1.8, LARGEST[0] - 3.6, LARGEST[1] - 3.6, ROUND - 1.8)
        self._sheet = layer.done()
        self._shadow = shadow(LARGEST, MARGIN, 120)
        self._tails = {side: self._tail(side) for side in (-1, 1)}
        self.dots = [self._dots(number) for number in range(4)]  # while the character thinks

    @staticmethod
    def _tail(side: int) -> pygame.Surface:
        layer = Layer(TAIL, scale=3, origin=(15, 2), edge=RIM)
        outline = curve((-11, 0), (-6, 9), (side * 9, 17)) + curve((side * 9, 17), (6, 9), (11, 0))
        layer.polygon(PAPER, [*outline, (12, -3), (-12, -3)])
        layer.stroke(RIM, outline, 1.8)
        layer.rect(PAPER, -11, -3, 22, 2.6)
        return layer.done()

    @staticmethod
    def _dots(lit: int) -> pygame.Surface:
        layer = Layer((60, 22), scale=3, edge=PAPER)
        for number in range(3):
            up, colour = (3, INK) if number + 1 == lit else (0, FADED)
            layer.circle(colour, 8 + 14 * number, 13 - up, 3)
        return layer.done()

    def sheet(self, size: tuple[int, int], tail_x: int, side: int) -> pygame.Surface:
        """Returns an empty bubble with its shadow. The tail is at `tail_x` and leans to `side`."""
        whole = size[0] + 2 * MARGIN, size[1] + 2 * MARGIN + TAIL[1]
        picture = pygame.Surface(whole, pygame.SRCALPHA)
        _slices(picture, self._shadow, (0, 4), (size[0] + 2 * MARGIN, size[1] + 2 * MARGIN), ROUND + MARGIN)
        _slices(picture, self._sheet, (MARGIN, MARGIN), size, ROUND)
        picture.blit(self._tails[side], (MARGIN + tail_x - 15, MARGIN + size[1] - 4))
        return picture


def _slices(
    target: pygame.Surface, source: pygame.Surface, place: tuple[int, int], size: tuple[int, int], corner: int
) -> None:
    """Blits a picture at a smaller size, by leaving out its middle. Corners and edges keep their shape."""
    wide, tall = source.get_size()
    columns = ((0, 0, size[0] - corner), (size[0] - corner, wide - corner, corner))
    half = size[1] // 2
    rows = ((0, 0, half), (half, tall - (size[1] - half), size[1] - half))
    for x, from_x, across in columns:
        for y, from_y, down in rows:
            target.blit(source, (place[0] + x, place[1] + y), (from_x, from_y, across, down))


class Bubble:
    """The speech bubble of one character."""

    def __init__(self, paper: Paper, tip: Point, centre: float, bounds: pygame.Rect) -> None:
        self._paper, self._tip, self._centre, self._bounds = paper, tip, centre, bounds
        self.open, self.alpha = False, 255
        self.text = ""
        self._lines: list[str] = []
        self._rows: list[pygame.Surface] = []  # a picture of each line
        self._asked: list[pygame.Surface] = []
        self._ends: float | None = None  # when the fading begins
        self._height, self._width = 0.0, 0
        self._sheet: tuple[tuple[int, int], pygame.Surface] | None = None  # size and picture

    def begin(self, question: str) -> None:
        """Opens the bubble for the answer to a question."""
        lines = self._paper.question.wrap(question, WIDTH - 16)
        if len(lines) > 2:
            lines = [lines[0], lines[1] + " ..."]
        self._asked = [self._paper.question.render(line, FADED) for line in lines]
        self.text, self._lines, self._rows = "", [], []
        self._ends, self.open, self.alpha = None, True, 255
        self._sheet = None
        self._measure()
        self._height = float(self._target())

    def write(self, text: str) -> None:
        """Shows the answer so far."""
        if text == self.text:
            return
        self.text = text
        lines = self._paper.text.wrap(text, WIDTH)[-MAX_LINES:]
        known = dict(zip(self._lines, self._rows, strict=True))
        self._rows = [known.get(line) or self._paper.text.render(line, INK) for line in lines]
        self._lines = lines
        self._measure()

    def finish(self, now: float) -> None:
        """Lets the bubble fade when a reader had time for the answer."""
        self._ends = now + LINGER + READING * len(self.text)

    def close(self) -> None:
        """Removes the bubble at once."""
        self.open = False

    def pictures(self, now: float) -> list[tuple[pygame.Surface, Point]]:
        """Returns sheet and lines with their places at a time in seconds. Empty: the bubble is closed."""
        fading = 0.0 if self._ends is None else (now - self._ends) / FADE
        if not self.open or fading >= 1:
            self.open = False
            return []
        self._height += (self._target() - self._height) * 0.3
        size = self._width, max(2 * ROUND, round(self._height))
        left, top = self._left(), self._tip[1] - TAIL[1] + 4 - size[1]
        out = [
            (self._paper_of(size), (left - MARGIN, top - MARGIN)),
            *self._text_at(now, left + PAD, top, size[1]),
        ]
        alpha = round(255 * (1 - max(0.0, fading)))
        if alpha != self.alpha:
            self.alpha = alpha
            for picture, _ in out:
                picture.set_alpha(alpha)
        return out

    def _text_at(self, now: float, x: float, top: float, tall: int) -> list[tuple[pygame.Surface, Point]]:
        """Returns the lines that the bubble has room for while it grows."""
        out: list[tuple[pygame.Surface, Point]] = []
        y, bottom = top + PAD - 2, top + tall - 5
        for row in [*self._asked, *(self._rows or [self._paper.dots[int(now * 3) % 4]])]:
            room = round(bottom - y)
            if room <= 0:
                break
            shown = row if room >= row.get_height() else row.subsurface((0, 0, row.get_width(), room))
            out.append((shown, (x, y)))
            y += row.get_height()
        return out

    def _paper_of(self, size: tuple[int, int]) -> pygame.Surface:
        if self._sheet is None or self._sheet[0] != size:
            left = self._left()
            tail = round(max(24.0, min(size[0] - 24.0, self._tip[0] - left)))
            side = 1 if self._tip[0] >= left + size[0] / 2 else -1
            self._sheet = size, self._paper.sheet(size, tail, side)
        return self._sheet[1]

    def _measure(self) -> None:
        widest = max([row.get_width() for row in (*self._asked, *self._rows)], default=0)
        self._width = min(WIDTH, max(widest, 90)) + 2 * PAD

    def _left(self) -> int:
        left = round(self._centre - self._width / 2)
        return max(self._bounds.left, min(left, self._bounds.right - self._width))

    def _target(self) -> int:
        head = sum(picture.get_height() for picture in self._asked)
        return min(LARGEST[1], 2 * PAD - 4 + head + max(1, len(self._lines)) * self._paper.text.height)


def wobble(seconds: float) -> float:
    """Returns how far a speaking head has moved up, in pixels."""
    return 1.6 * math.sin(seconds * 9.0) * math.sin(seconds * 2.3)
