"""What moves by itself: fire, candles and rain. Each is a loop of pictures, drawn once at the start."""

from __future__ import annotations

import math
import random

import pygame
from paint import Colour, Point, glow, mix

FIRE = (200, 190)  # size of the fire's picture
LOOP = 48  # pictures of each loop
TICKS = 2  # frames that each picture is shown; those of the rain: one more
FLAME = (30, 44)
HAZE = (430, 300)


def paint_fire() -> list[pygame.Surface]:
    """Returns the fire as a loop, for blitting with `BLEND_RGB_ADD`."""
    chance = random.Random(1)
    tongues = [
        (
            chance.gauss(0, 0.34),
            chance.random(),
            chance.uniform(0.7, 1.15),
            chance.choice((1, 2)),
            chance.random(),
        )
        for _ in range(46)
    ]
    sparks = [(chance.uniform(-0.6, 0.6), chance.random(), chance.uniform(6, 18)) for _ in range(9)]
    return [_fire_at(number / LOOP, tongues, sparks) for number in range(LOOP)]


def _fire_at(
    time: float,
    tongues: list[tuple[float, float, float, int, float]],
    sparks: list[tuple[float, float, float]],
) -> pygame.Surface:
    picture = pygame.Surface(FIRE, 0, 32)
    middle, foot = FIRE[0] / 2, FIRE[1] - 22.0
    for place, phase, tall, speed, sway in tongues:
        age = (time * speed + phase) % 1.0
        height = tall * (1 - 0.55 * min(1.0, abs(place) * 1.3))
        x = middle + place * 76 * (1 - 0.45 * age) + 7 * math.sin(math.tau * (time + sway) * 2) * age
        y = foot - age * 142 * height
        size = (1 - age) ** 0.75 * 34 * (0.65 + 0.35 * height)
        if size < 3:
            continue
        wide, tall_now = max(4, round(size * 1.5)), max(6, round(size * 2.5))
        light = glow(wide & ~1, tall_now & ~1, _heat(age), 1.25)
        picture.blit(light, (x - wide / 2, y - tall_now * 0.62), special_flags=pygame.BLEND_RGB_ADD)
    bed = glow(150, 46, (150, 60, 16), 1.2)
    picture.blit(bed, (middle - 75, foot - 20), special_flags=pygame.BLEND_RGB_ADD)
    for place, phase, sway in sparks:
        age = (time + phase) % 1.0
        x = middle + place * 50 + sway * math.sin(math.tau * (age + phase))
        level = round(255 * (1 - age))
        picture.fill((level, round(level * 0.62), round(level * 0.2)), (x, foot - 20 - 150 * age, 2, 2))
    return picture


def _heat(age: float) -> Colour:
    """Returns the colour of a flame from its birth (0) to its end (1)."""
    ramp: list[Colour] = [(96, 58, 22), (112, 52, 12), (92, 32, 6), (44, 10, 3)]
    place = min(age, 0.999) * (len(ramp) - 1)
    return mix(ramp[int(place)], ramp[int(place) + 1], place % 1)


def paint_haze() -> list[pygame.Surface]:
    """Returns the fire's light on the room at some strengths, for blitting with `BLEND_RGB_ADD`."""
    return [glow(*HAZE, (18 + 5 * step, 8 + 2 * step, 2), 1.35) for step in range(6)]


def paint_flames() -> list[pygame.Surface]:
    """Returns a candle's flame as a loop, for blitting with `BLEND_RGB_ADD`."""
    pictures = []
    for number in range(LOOP):
        turn = math.tau * number / LOOP
        lean = 1.3 * math.sin(turn) + 0.8 * math.sin(3 * turn)
        tall = 1 + 0.1 * math.sin(2 * turn) + 0.05 * math.sin(5 * turn)
        picture = pygame.Surface(FLAME, 0, 32)
        x, foot = FLAME[0] / 2, FLAME[1] - 10
        for wide, high, colour in ((28, 40, (60, 32, 8)), (12, 26, (170, 92, 26)), (7, 15, (150, 140, 90))):
            high = round(high * tall) & ~1
            light = glow(wide, high, colour, 1.1)
            place = x - wide / 2 + lean * high / 26, foot - high * 0.72
            picture.blit(light, place, special_flags=pygame.BLEND_RGB_ADD)
        pictures.append(picture)
    return pictures


def paint_rain(size: tuple[int, int]) -> list[pygame.Surface]:
    """Returns rain behind a window as a loop, for blitting with `BLEND_RGB_ADD`."""
    chance = random.Random(2)
    width, height = size
    drops = [
        (chance.uniform(-20, width), chance.random(), chance.choice((2, 3)), chance.uniform(8, 20))
        for _ in range(46)
    ]
    pictures = []
    for number in range(LOOP):
        picture = pygame.Surface(size, 0, 32)
        for x, phase, speed, length in drops:
            way = (number / LOOP * speed + phase) % 1.0
            y = way * (height + 40) - 30
            level = round(18 + 10 * speed)
            start: Point = (x + way * 26, y)
            end = (start[0] + length * 0.18, y + length)
            pygame.draw.aaline(picture, (level, level + 8, level + 22), start, end)
        for bar in window_bars(width, height):
            picture.fill((0, 0, 0), bar)
        pictures.append(picture)
    return pictures


def window_bars(width: int, height: int) -> list[pygame.Rect]:
    """Returns the bars of a window, which rain does not cover."""
    bars = [pygame.Rect(round(width * part) - 2, 0, 4, height) for part in (1 / 3, 2 / 3)]
    return bars + [pygame.Rect(0, round(height * part) - 2, width, 3) for part in (0.25, 0.5, 0.75)]


class Lights:
    """The loops, and what each of them shows now."""

    def __init__(self, hearth: Point, candles: tuple[Point, ...], window: pygame.Rect) -> None:
        self._fire, self._haze, self._flames = paint_fire(), paint_haze(), paint_flames()
        self._rain = paint_rain(window.size)
        self._hearth, self._candles, self._window = hearth, candles, window

    def behind(self, tick: int) -> list[tuple[pygame.Surface, Point]]:
        """Returns the pictures behind the characters at a frame number, with their places."""
        step = tick // TICKS
        x, y = self._hearth
        strength = 2.5 + 1.6 * math.sin(step * 0.41) + 0.9 * math.sin(step * 1.13)
        haze = self._haze[max(0, min(5, round(strength)))]
        out: list[tuple[pygame.Surface, Point]] = [
            (self._rain[(tick + 1) // (TICKS + 1) % LOOP], self._window.topleft),
            (haze, (x - HAZE[0] / 2, y - HAZE[1] / 2 - 20)),
            (self._fire[step % LOOP], (x - FIRE[0] / 2, y - FIRE[1] + 44)),
        ]
        return out + [self._flame(number, step) for number in (0, 1)]

    def before(self, tick: int) -> list[tuple[pygame.Surface, Point]]:
        """Returns the pictures before the characters."""
        return [self._flame(number, tick // TICKS) for number in range(2, len(self._candles))]

    def _flame(self, number: int, step: int) -> tuple[pygame.Surface, Point]:
        x, y = self._candles[number]
        return self._flames[(step + 17 * number) % LOOP], (x - FLAME[0] / 2, y - FLAME[1] + 14)
