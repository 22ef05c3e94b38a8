"""Furniture and what stands on it, each a function that draws on a layer in daylight."""

from __future__ import annotations

import math
import random

from paint import Colour, Layer, curve, shade
from walls import OAK, plank

BRASS: Colour = (214, 168, 82)


def mantel(layer: Layer, x: float) -> None:
    """Draws what stands on the mantelpiece and hangs above it."""
    layer.circle(shade(BRASS, 0.55), x, 148, 44)
    layer.circle((92, 50, 40), x, 148, 40)
    layer.circle((122, 66, 46), x, 146, 36)
    for number in range(8):  # a round shield
        turn = number * math.tau / 8
        layer.stroke((86, 46, 36), [(x, 148), (x + 38 * math.cos(turn), 148 + 38 * math.sin(turn))], 2)
        layer.circle(BRASS, x + 40 * math.cos(turn), 148 + 40 * math.sin(turn), 2.6)
    layer.circle(shade(BRASS, 0.8), x, 148, 12)
    layer.circle(shade(BRASS, 1.2), x - 3, 145, 6)
    for side in (-1, 1):
        layer.stroke((146, 146, 152), [(x + side * 62, 94), (x - side * 62, 204)], 5)
        layer.stroke((212, 212, 220), [(x + side * 62, 93), (x - side * 40, 184)], 1.6)
        layer.stroke(BRASS, [(x - side * 58, 192), (x - side * 44, 204)], 5)
    for dx, tall, colour in ((-112, 26, (108, 122, 92)), (96, 20, (132, 86, 74))):
        pot(layer, x + dx, 226, tall, colour)
    candle(layer, x - 140, 226, 24)
    candle(layer, x + 140, 226, 30)


def pot(layer: Layer, x: float, foot: float, tall: float, colour: Colour) -> None:
    """Draws a jug that stands at `foot`."""
    layer.ellipse(shade(colour, 0.8), x, foot - tall * 0.42, tall * 0.46, tall * 0.42)
    layer.ellipse(colour, x - 2, foot - tall * 0.46, tall * 0.36, tall * 0.36)
    layer.rect(shade(colour, 0.9), x - tall * 0.2, foot - tall * 1.05, tall * 0.4, tall * 0.4, 3)
    layer.stroke(
        (*shade(colour, 1.5), 140),
        [(x - tall * 0.2, foot - tall * 0.6), (x - tall * 0.22, foot - tall * 0.4)],
        2,
    )


def candle(layer: Layer, x: float, foot: float, tall: float) -> None:
    """Draws a candle without its flame, which `lights.py` animates."""
    layer.ellipse(shade(BRASS, 0.7), x, foot - 2, 12, 4)
    layer.ellipse(BRASS, x, foot - 4, 9, 3)
    layer.rect((226, 208, 164), x - 4.5, foot - tall, 9, tall - 3, 2)
    layer.rect((250, 238, 204), x - 3.5, foot - tall, 3.5, tall - 4, 1)
    layer.stroke((246, 230, 190), [(x + 4, foot - tall + 2), (x + 4, foot - tall + 9)], 2.6)
    layer.stroke((60, 44, 34), [(x, foot - tall), (x, foot - tall - 4)], 1.4)


def mug(layer: Layer, x: float, foot: float, *, foam: bool = True, scale: float = 1.0) -> None:
    """Draws a wooden mug."""
    wide, tall = 12 * scale, 28 * scale
    layer.stroke(
        shade(OAK, 0.9),
        curve(
            (x + wide, foot - tall * 0.8), (x + wide * 2.1, foot - tall * 0.5), (x + wide, foot - tall * 0.2)
        ),
        4 * scale,
    )
    layer.rect(shade(OAK, 1.25), x - wide, foot - tall, 2 * wide, tall, 3)
    layer.rect(shade(OAK, 1.5), x - wide + 2, foot - tall, wide * 0.6, tall, 2)
    for ring in (0.22, 0.74):
        layer.rect((118, 112, 108), x - wide - 1, foot - tall * ring - 2, 2 * wide + 2, 4 * scale, 1)
    if foam:
        for dx, dy, size in ((-8, 0, 6), (0, -3, 7), (8, 0, 6), (4, 2, 5), (-4, 2, 5)):
            layer.circle((248, 238, 214), x + dx * scale, foot - tall + dy * scale, size * scale)


def shelves(layer: Layer, x: float, y: float, width: float) -> None:
    """Draws two shelves with bottles, jugs and mugs."""
    chance = random.Random(3)
    glass = [(70, 104, 70), (118, 70, 40), (62, 84, 112), (128, 48, 44), (150, 122, 60)]
    for row in range(2):
        board = y + row * 92
        place = x + 16
        while place < x + width - 18:
            tall, colour = chance.uniform(34, 58), chance.choice(glass)
            kind = chance.random()
            if kind < 0.62:
                bottle(layer, place, board, tall, colour)
            elif kind < 0.85:
                mug(layer, place, board, foam=False, scale=0.9)
            else:
                pot(layer, place, board, tall * 0.7, (166, 138, 104))
            place += chance.uniform(24, 36)
        plank(layer, shade(OAK, 1.05), x - 8, board, width + 16, 11, 50 + row)
        layer.rect((0, 0, 0, 80), x, board + 11, width, 5)


def bottle(layer: Layer, x: float, foot: float, tall: float, colour: Colour) -> None:
    """Draws a bottle."""
    layer.rect(colour, x - 8, foot - tall * 0.66, 16, tall * 0.66, 4)
    layer.rect(shade(colour, 0.85), x - 3, foot - tall, 6, tall * 0.5, 2)
    layer.rect((196, 162, 112), x - 3, foot - tall - 3, 6, 5, 1)
    layer.rect((*shade(colour, 2.0), 130), x - 6, foot - tall * 0.6, 2.6, tall * 0.5, 1)
    layer.rect((222, 204, 160), x - 7, foot - tall * 0.42, 14, tall * 0.2, 1)


def counter(layer: Layer, width: float, top: float, foot: float) -> None:
    """Draws the counter along the left wall."""
    layer.rect(shade(OAK, 0.72), -10, top, width, foot - top, 3)
    for number in range(6):
        plank(
            layer,
            shade(OAK, 0.95 + 0.07 * (number % 2)),
            number * (width - 10) / 6 + 3,
            top + 26,
            (width - 10) / 6 - 6,
            foot - top - 34,
            110 + number,
        )
    layer.rect((0, 0, 0, 110), -10, top + 18, width, 9)
    plank(layer, shade(OAK, 1.35), -14, top, width + 18, 20, 8)
    layer.stroke((*shade(OAK, 2.0), 160), [(0, top + 2), (width, top + 2)], 1.4)
    layer.rect(shade(OAK, 0.6), -10, foot - 10, width, 10)


def barrel(layer: Layer, x: float, foot: float, across: float, tall: float) -> None:
    """Draws a standing barrel."""
    sides = curve(
        (x - across * 0.82, foot - tall), (x - across * 1.16, foot - tall / 2), (x - across * 0.82, foot)
    )
    other = curve(
        (x + across * 0.82, foot), (x + across * 1.16, foot - tall / 2), (x + across * 0.82, foot - tall)
    )
    layer.polygon(shade(OAK, 1.05), sides + other)
    for number in range(-3, 4):
        place = number / 3.4
        line = curve(
            (x + across * 0.8 * place, foot - tall),
            (x + across * 1.12 * place, foot - tall / 2),
            (x + across * 0.8 * place, foot),
        )
        layer.stroke((*shade(OAK, 0.6), 170), line, 1.4)
    for part in (0.12, 0.34, 0.68, 0.9):
        wide = across * (0.84 + 0.18 * math.sin(math.pi * part))
        layer.rect((92, 86, 84), x - wide, foot - tall * part - 4, 2 * wide, 7, 2)
    layer.ellipse(shade(OAK, 1.3), x, foot - tall, across * 0.8, across * 0.2)
    layer.ellipse(shade(OAK, 0.95), x, foot - tall, across * 0.68, across * 0.15)


def table(layer: Layer, x: float, top: float, across: float, foot: float) -> None:
    """Draws a round table."""
    layer.ellipse((0, 0, 0, 70), x, foot - 2, across * 0.8, 12)
    layer.polygon(shade(OAK, 0.75), [(x - 12, top), (x + 12, top), (x + 17, foot - 14), (x - 17, foot - 14)])
    layer.polygon(shade(OAK, 0.9), [(x - 9, top), (x - 2, top), (x - 5, foot - 14), (x - 13, foot - 14)])
    for side in (-1, 1):
        layer.stroke(
            shade(OAK, 0.75), curve((x, foot - 22), (x + side * 30, foot - 16), (x + side * 46, foot - 2)), 10
        )
    layer.ellipse(shade(OAK, 0.68), x, top + 12, across, across * 0.17)
    layer.ellipse(shade(OAK, 1.28), x, top + 4, across, across * 0.17)
    layer.ellipse(shade(OAK, 1.14), x, top + 4, across * 0.9, across * 0.142)
    for number in range(-3, 4):
        half = across * 0.86 * math.sqrt(1 - (number / 4.2) ** 2)
        y = top + 4 + number * across * 0.04
        layer.stroke((*shade(OAK, 0.8), 110), [(x - half, y), (x + half, y)], 1)
