"""The room: composes the furniture, then lays the light of fire, candles and window over it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import furniture
import pygame
import walls
from paint import Layer, Point, add_glow, gradient, shadow

SIZE = WIDTH, HEIGHT = 1280, 720
SCENE = 616  # height of the picture; the panel is below
HEARTH: Point = (640, 452)
WINDOW = pygame.Rect(952, 112, 138, 172)
COUNTER_TOP = 438
TABLES = ((474, 500), (1118, 506))  # middle and height of their tops
CANDLES: tuple[Point, ...] = ((500, 198), (780, 192), (62, 404), (516, 474), (1076, 480))  # their flames


class Body(Protocol):
    """A character's body, which stands behind tables and counter."""

    def paint_body(self, target: pygame.Surface) -> None:
        """Draws the body."""


def paint(target: pygame.Surface, bodies: Iterable[Body]) -> None:
    """Draws the whole room with the bodies of its characters."""
    target.blit(paint_back(), (0, 0))
    for body in bodies:
        body.paint_body(target)
    for x, top in TABLES:  # it is dark below the tables
        dark = shadow((210, SCENE - top), 30, 150)
        target.blit(dark, (x - dark.get_width() // 2, top + 8))
    target.blit(paint_front(), (0, 0))
    vignette(target.subsurface((0, 0, WIDTH, SCENE)))


def paint_back() -> pygame.Surface:
    """Returns the room behind the characters, lit."""
    layer = Layer((WIDTH, SCENE))
    walls.wall(layer, WIDTH)
    walls.floor(layer, WIDTH, SCENE)
    furniture.shelves(layer, 34, 186, 328)
    walls.window(layer, *WINDOW)
    walls.lead(layer, *WINDOW)
    walls.rug(layer, HEARTH[0], 558)
    walls.fireplace(layer, HEARTH[0])
    furniture.mantel(layer, HEARTH[0])
    furniture.barrel(layer, 1236, 486, 42, 112)
    walls.ceiling(layer, WIDTH)
    for number, (x, length) in enumerate(((1172, 26), (1214, 44), (446, 30))):
        walls.herbs(layer, x, length, number)
    picture = layer.done()
    picture.blit(light_map(), (0, 0), special_flags=pygame.BLEND_RGB_MULT)
    bloom(picture)
    return picture


def paint_front() -> pygame.Surface:
    """Returns what stands before the characters, lit, on a transparent surface."""
    layer = Layer((WIDTH, SCENE))
    furniture.counter(layer, 388, COUNTER_TOP, SCENE)
    furniture.mug(layer, 120, COUNTER_TOP + 4)
    furniture.mug(layer, 330, COUNTER_TOP + 4, foam=False)
    furniture.pot(layer, 292, COUNTER_TOP + 4, 44, (150, 96, 70))
    furniture.candle(layer, 62, COUNTER_TOP + 4, 34)
    for x, top in TABLES:
        furniture.table(layer, x, top, 104, SCENE - 6)
    furniture.mug(layer, 430, 506)
    furniture.candle(layer, 516, 508, 30)
    furniture.mug(layer, 1160, 512, foam=False)
    furniture.candle(layer, 1076, 514, 30)
    furniture.bottle(layer, 1188, 510, 52, (70, 104, 70))
    furniture.barrel(layer, 842, SCENE - 8, 56, 100)
    picture = layer.done()
    picture.blit(light_map(), (0, 0), special_flags=pygame.BLEND_RGB_MULT)
    return picture


def light_map() -> pygame.Surface:
    """Returns the light that falls on each pixel, for blitting with `BLEND_RGB_MULT`."""
    light = gradient((WIDTH, SCENE), [(84, 62, 62), (118, 88, 76), (128, 94, 76), (100, 70, 58)]).convert(
        32, 0
    )
    add_glow(light, HEARTH, 620, 420, (206, 122, 58), 1.15)
    add_glow(light, (HEARTH[0], 540), 380, 150, (96, 50, 20), 1.4)
    for x, y in CANDLES:
        add_glow(light, (x, y), 190, 170, (150, 112, 62), 1.5)
    add_glow(light, (200, 300), 330, 240, (104, 76, 46), 1.3)
    add_glow(light, (1110, 340), 290, 240, (96, 72, 48), 1.3)
    add_glow(light, WINDOW.center, 150, 170, (50, 66, 116), 1.4)
    return light


def bloom(picture: pygame.Surface) -> None:
    """Adds the haze of light around flames."""
    add_glow(picture, HEARTH, 330, 240, (92, 44, 12), 1.5)
    for x, y in CANDLES[:2]:
        add_glow(picture, (x, y), 86, 80, (72, 46, 18), 1.6)
    add_glow(picture, WINDOW.center, 120, 130, (14, 20, 40), 1.5)


def vignette(picture: pygame.Surface) -> None:
    """Darkens the corners of the picture."""
    dark = pygame.Surface((WIDTH, SCENE), 0, 32)
    dark.fill((120, 112, 116))
    add_glow(dark, (WIDTH / 2, SCENE * 0.55), WIDTH * 0.78, SCENE * 0.98, (150, 150, 150), 0.8)
    picture.blit(dark, (0, 0), special_flags=pygame.BLEND_RGB_MULT)
