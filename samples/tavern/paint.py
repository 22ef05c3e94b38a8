"""Drawing tools: supersampled layers, gradients and light. Nothing here is read from an image file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import pygame

Point = tuple[float, float]
Colour = tuple[int, int, int]
Paint = tuple[int, int, int] | tuple[int, int, int, int]


def mix(one: Colour, other: Colour, part: float) -> Colour:
    """Returns the colour between `one` (part 0) and `other` (part 1)."""
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue


def shade(colour: Colour, factor: float) -> Colour:
    """Returns the colour, darker (factor below 1) or brighter."""
    red, green, blue = (max(0, min(255, round(part * factor))) for part in colour)
    return red, green, blue


def curve(start: Point, bend: Point, end: Point, steps: int = 12) -> list[Point]:
    """Returns points of a quadratic Bezier curve from `start` to `end`, drawn towards `bend`."""
    points = []
    for step in range(steps + 1):
        t = step / steps
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
        points.append((a * start[0] + b * bend[0] + c * end[0], a * start[1] + b * bend[1] + c * end[1]))
    return points


class Layer:
    """A transparent surface that is drawn enlarged and scaled down at the end, which smooths its edges.

    Coordinates are relative to `origin`; one unit is `zoom` pixels of the result. `edge` is the colour of
    transparent pixels, which smoothing mixes into the edges.
    """

    def __init__(
        self,
        size: tuple[int, int],
        *,
        scale: int = 2,
        origin: Point = (0, 0),
        zoom: float = 1,
        edge: Colour = (20, 12, 8),
    ) -> None:
        self.size = round(size[0] * zoom), round(size[1] * zoom)
        self.scale, self.origin = scale * zoom, origin
        self.surface = pygame.Surface((self.size[0] * scale, self.size[1] * scale), pygame.SRCALPHA)
        self.surface.fill((*edge, 0))

    def _at(self, point: Point) -> Point:
        return (point[0] + self.origin[0]) * self.scale, (point[1] + self.origin[1]) * self.scale

    def _rect(self, x: float, y: float, width: float, height: float) -> pygame.Rect:
        left, top = self._at((x, y))
        right, bottom = self._at((x + width, y + height))
        return pygame.Rect(round(left), round(top), round(right - left), round(bottom - top))

    def polygon(self, paint: Paint, points: Iterable[Point]) -> None:
        """Fills a polygon."""
        places = [self._at(point) for point in points]

        def draw(surface: pygame.Surface, colour: Paint, left: float, top: float) -> None:
            pygame.draw.polygon(surface, colour, [(x - left, y - top) for x, y in places])

        self._draw(paint, _bounds(places, 1), draw)

    def rect(self, paint: Paint, x: float, y: float, width: float, height: float, radius: float = 0) -> None:
        """Fills a rectangle with rounded corners."""
        rounding, area = round(radius * self.scale), self._rect(x, y, width, height)

        def draw(surface: pygame.Surface, colour: Paint, left: float, top: float) -> None:
            pygame.draw.rect(surface, colour, area.move(-left, -top), border_radius=rounding)

        self._draw(paint, area, draw)

    def ellipse(self, paint: Paint, x: float, y: float, across: float, down: float) -> None:
        """Fills an ellipse with centre (x, y) and two radii."""
        area = self._rect(x - across, y - down, 2 * across, 2 * down)

        def draw(surface: pygame.Surface, colour: Paint, left: float, top: float) -> None:
            pygame.draw.ellipse(surface, colour, area.move(-left, -top))

        self._draw(paint, area, draw)

    def circle(self, paint: Paint, x: float, y: float, radius: float) -> None:
        """Fills a circle with centre (x, y)."""
        self.ellipse(paint, x, y, radius, radius)

    def stroke(self, paint: Paint, points: Sequence[Point], width: float) -> None:
        """Draws a line through the points, with round joints and ends."""
        places, wide = [self._at(point) for point in points], max(1.0, width * self.scale)

        def draw(surface: pygame.Surface, colour: Paint, left: float, top: float) -> None:
            _stroke(surface, colour, [(x - left, y - top) for x, y in places], wide)

        self._draw(paint, _bounds(places, wide / 2 + 1), draw)

    def _draw(
        self, paint: Paint, area: pygame.Rect, draw: Callable[[pygame.Surface, Paint, float, float], None]
    ) -> None:
        """Draws an opaque shape directly, and a translucent one through a surface of its own."""
        if len(paint) == 3 or paint[3] == 255:
            draw(self.surface, paint, 0, 0)
            return
        film = pygame.Surface((max(1, area.width), max(1, area.height)), pygame.SRCALPHA)
        film.fill((*paint[:3], 0))
        draw(film, paint[:3], area.left, area.top)
        film.set_alpha(paint[3])
        self.surface.blit(film, area.topleft)

    def cut(self, other: Layer) -> None:
        """Keeps only what `other`, a layer of the same size, covers."""
        self.surface.blit(other.surface, (0, 0), special_flags=pygame.BLEND_RGBA_MULT)

    def done(self) -> pygame.Surface:
        """Returns the picture at its real size."""
        return pygame.transform.smoothscale(self.surface, self.size)


def _bounds(places: Sequence[Point], margin: float) -> pygame.Rect:
    left, top = min(x for x, _ in places) - margin, min(y for _, y in places) - margin
    right, bottom = max(x for x, _ in places) + margin, max(y for _, y in places) + margin
    return pygame.Rect(
        math.floor(left), math.floor(top), math.ceil(right - left) + 1, math.ceil(bottom - top) + 1
    )


def _stroke(surface: pygame.Surface, paint: Paint, places: Sequence[Point], wide: float) -> None:
    """Draws a line as one polygon along both of its sides, with round ends. Suits curves, not corners."""
    sides: list[tuple[Point, Point]] = []
    last = len(places) - 1
    for number, (x, y) in enumerate(places):
        before, after = places[max(0, number - 1)], places[min(last, number + 1)]
        dx, dy = after[0] - before[0], after[1] - before[1]
        part = wide / 2 / (math.hypot(dx, dy) or 1.0)
        sides.append(((x + dy * part, y - dx * part), (x - dy * part, y + dx * part)))
    pygame.draw.polygon(surface, paint, [one for one, _ in sides] + [other for _, other in reversed(sides)])
    if wide >= 3:
        pygame.draw.circle(surface, paint, places[0], wide / 2)
        pygame.draw.circle(surface, paint, places[-1], wide / 2)


def gradient(size: tuple[int, int], colours: Sequence[Paint], *, across: bool = False) -> pygame.Surface:
    """Returns a surface that runs through `colours` from top to bottom, or from left to right."""
    count = len(colours)
    strip = pygame.Surface((count, 1) if across else (1, count), pygame.SRCALPHA)
    for number, colour in enumerate(colours):
        strip.set_at((number, 0) if across else (0, number), colour)
    return pygame.transform.smoothscale(strip, size)


@cache
def _disc(power: float) -> pygame.Surface:
    """Returns a small white disc that fades to black at its edge."""
    side = 48
    disc = pygame.Surface((side, side), 0, 32)
    for y in range(side):
        for x in range(side):
            away = math.hypot(x - side / 2 + 0.5, y - side / 2 + 0.5) / (side / 2 - 1)
            level = round(255 * max(0.0, 1 - away) ** power)
            disc.set_at((x, y), (level, level, level))
    return disc


@cache
def glow(width: int, height: int, colour: Colour, power: float = 1.6) -> pygame.Surface:
    """Returns light for blitting with `BLEND_RGB_ADD`: `colour` in the centre, black at the edge."""
    light = pygame.transform.smoothscale(_disc(power), (width, height))
    light.fill(colour, special_flags=pygame.BLEND_RGB_MULT)
    return light


def add_glow(
    target: pygame.Surface, centre: Point, across: float, down: float, colour: Colour, power: float = 1.6
) -> None:
    """Adds light with centre `centre` and two radii to a surface."""
    light = glow(round(2 * across), round(2 * down), colour, power)
    place = round(centre[0] - across), round(centre[1] - down)
    target.blit(light, place, special_flags=pygame.BLEND_RGB_ADD)


@cache
def shadow(size: tuple[int, int], radius: int, strength: int) -> pygame.Surface:
    """Returns a soft black rounded rectangle, `radius` larger than `size` on each side."""
    whole = size[0] + 2 * radius, size[1] + 2 * radius
    soft = pygame.Surface(whole, pygame.SRCALPHA)
    pygame.draw.rect(soft, (0, 0, 0, strength), (radius, radius, *size), border_radius=radius)
    return pygame.transform.gaussian_blur(soft, radius // 2)
