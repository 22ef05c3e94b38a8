"""Walls, floor, window and fireplace, each a function that draws on a layer in daylight.

`room.py` adds the light.
"""

from __future__ import annotations

import math
import random

from paint import Colour, Layer, curve, mix, shade

FLOOR = 470  # where the wall meets the floor
PLASTER: Colour = (205, 172, 128)
OAK: Colour = (112, 72, 42)
STONE: Colour = (150, 140, 130)


def plank(layer: Layer, colour: Colour, x: float, y: float, width: float, height: float, seed: int) -> None:
    """Draws a board with its grain along its longer side."""
    chance = random.Random(seed)
    layer.rect(colour, x, y, width, height, 2)
    across = width < height
    length, depth = (height, width) if across else (width, height)
    for _ in range(max(2, int(depth / 4))):
        off, start = chance.uniform(2, depth - 2), chance.uniform(0, length * 0.6)
        end = min(length - 2, start + chance.uniform(length * 0.2, length * 0.6))
        bend = off + chance.uniform(-2.5, 2.5)
        grain = curve((start, off), ((start + end) / 2, bend), (end, off))
        points = [(x + b, y + a) if across else (x + a, y + b) for a, b in grain]
        layer.stroke((*shade(colour, chance.uniform(0.62, 0.86)), 120), points, 1)
    edge = shade(colour, 1.28)
    layer.stroke((*edge, 110), [(x + 2, y + 1), (x + width - 2, y + 1)], 1)


def wall(layer: Layer, width: int) -> None:
    """Draws the plaster, its stains, and the timber frame."""
    chance = random.Random(7)
    layer.rect(PLASTER, 0, 0, width, FLOOR)
    for _ in range(420):
        x, y, size = chance.uniform(0, width), chance.uniform(0, FLOOR), chance.uniform(4, 46)
        tone = shade(PLASTER, chance.uniform(0.86, 1.07))
        layer.ellipse((*tone, 46), x, y, size * 1.5, size * 0.7)
    for number, x in enumerate((-18, 392, 868, width - 20)):
        plank(layer, OAK, x, 0, 38, FLOOR, 20 + number)
    for number, (x, end) in enumerate(((20, 392), (906, width - 20))):
        plank(layer, shade(OAK, 0.95), x, 352, end - x, 20, 40 + number)
    layer.rect(shade(OAK, 0.55), 0, 372, width, FLOOR - 372)
    for number in range(28):  # the panelling below
        plank(layer, shade(OAK, 0.82 + 0.1 * (number % 3)), number * 46, 374, 44, FLOOR - 374, 60 + number)
    plank(layer, shade(OAK, 1.1), 0, 364, width, 12, 90)
    layer.rect((0, 0, 0, 60), 0, FLOOR - 12, width, 12)


def ceiling(layer: Layer, width: int) -> None:
    """Draws the beams above."""
    plank(layer, shade(OAK, 0.8), -4, -6, width + 8, 44, 3)
    layer.rect((0, 0, 0, 90), 0, 38, width, 7)
    for number, x in enumerate(range(60, width, 168)):
        plank(layer, shade(OAK, 0.66), x, -4, 46, 40, 100 + number)
        layer.polygon(shade(OAK, 0.5), [(x + 46, 36), (x + 54, 26), (x + 54, -4), (x + 46, -4)])


def floor(layer: Layer, width: int, height: int) -> None:
    """Draws floor boards that run towards the viewer."""
    chance, middle = random.Random(11), width / 2
    layer.rect(shade(OAK, 0.7), 0, FLOOR, width, height - FLOOR)
    count = 26
    for number in range(-4, count + 4):
        far = [middle + (number + side - count / 2) * 52 for side in (0, 1)]
        near = [middle + (x - middle) * 1.75 for x in far]
        tone = shade(OAK, chance.uniform(0.82, 1.12))
        layer.polygon(tone, [(far[0], FLOOR), (far[1], FLOOR), (near[1], height), (near[0], height)])
        layer.stroke((*shade(OAK, 0.42), 200), [(far[0], FLOOR), (near[0], height)], 1.6)
        for _ in range(3):
            part = chance.uniform(0.1, 0.9)
            top, low = far[0] + (far[1] - far[0]) * part, near[0] + (near[1] - near[0]) * part
            line = [(top, FLOOR + 6), (low, height - 4)]
            layer.stroke((*shade(tone, 0.8), 70), line, 1)
        joint = chance.uniform(FLOOR + 16, height - 16)
        part = (joint - FLOOR) / (height - FLOOR)
        ends = [(f + (n - f) * part, joint) for f, n in zip(far, near, strict=True)]
        layer.stroke((*shade(OAK, 0.42), 180), ends, 1.4)


def rug(layer: Layer, x: float, y: float) -> None:
    """Draws the rug before the fire."""
    for across, colour in (
        (196, (92, 28, 30)),
        (182, (168, 120, 58)),
        (172, (118, 38, 36)),
        (118, (78, 26, 34)),
    ):
        layer.ellipse(colour, x, y, across, across * 0.2)
    for number in range(24):
        turn = number * math.tau / 24
        layer.circle((206, 160, 92), x + 146 * math.cos(turn), y + 28 * math.sin(turn), 2.6)
    layer.ellipse((168, 120, 58), x, y, 60, 11)
    layer.ellipse((118, 38, 36), x, y, 52, 9)


def fireplace(layer: Layer, x: float) -> None:
    """Draws chimney, hearth and mantelpiece around the middle `x`."""
    chance = random.Random(5)
    layer.polygon(
        shade(STONE, 0.62),
        [(x - 112, 40), (x + 112, 40), (x + 150, 236), (x + 150, 490), (x - 150, 490), (x - 150, 236)],
    )
    for row in range(20):
        y, shift = 44 + row * 22.4, 20 if row % 2 else 0
        half = 110 + (38 * min(1.0, (y - 40) / 196))
        place = -half
        while place < half:
            wide = min(chance.uniform(30, 52) if place > -half else 26 + shift, half - place)
            tone = mix(shade(STONE, chance.uniform(0.72, 1.08)), (160, 120, 92), chance.uniform(0, 0.4))
            layer.rect(tone, x + place + 1, y + 1, max(4, wide - 2), 20, 4)
            layer.stroke(
                (*shade(tone, 1.25), 90), [(x + place + 5, y + 3), (x + place + wide - 6, y + 3)], 1.2
            )
            place += wide
    arch = curve((x - 98, 372), (x - 94, 288), (x, 284)) + curve((x, 284), (x + 94, 288), (x + 98, 372))
    outer = curve((x - 118, 372), (x - 114, 264), (x, 260)) + curve((x, 260), (x + 114, 264), (x + 118, 372))
    layer.polygon(shade(STONE, 0.5), [(x - 118, 492), *outer, (x + 118, 492)])
    for number in range(11):  # the stones of the arch
        turn = math.pi * (number + 0.5) / 11
        cx, cy = x - 108 * math.cos(turn), 372 - 98 * math.sin(turn) * 1.02
        layer.circle(shade(STONE, chance.uniform(0.8, 1.06)), cx, cy, 12.5)
    layer.polygon((26, 15, 12), [(x - 98, 484), *arch, (x + 98, 484)])
    layer.polygon((44, 26, 20), [(x - 98, 484), (x - 78, 456), (x + 78, 456), (x + 98, 484)])
    layer.rect(shade(STONE, 0.9), x - 168, 482, 336, 18, 4)
    layer.rect(shade(STONE, 0.6), x - 168, 496, 336, 8, 3)
    plank(layer, shade(OAK, 1.15), x - 172, 226, 344, 18, 9)
    layer.rect((0, 0, 0, 90), x - 152, 244, 304, 7)
    for side in (-1, 1):
        layer.polygon(shade(OAK, 0.85), [(x + side * 150, 244), (x + side * 128, 244), (x + side * 148, 276)])
    logs(layer, x)


def logs(layer: Layer, x: float) -> None:
    """Draws the firewood and its irons."""
    for dx, dy, length, turn in ((0, 466, 62, 0.02), (-14, 452, 48, 0.22), (18, 452, 46, -0.26)):
        cos, sin = math.cos(turn), math.sin(turn)
        ends = [(x + dx - length * cos, dy - length * sin), (x + dx + length * cos, dy + length * sin)]
        layer.stroke((58, 34, 22), ends, 17)
        layer.stroke((88, 52, 30), [(ends[0][0], ends[0][1] - 4), (ends[1][0], ends[1][1] - 4)], 4)
        layer.circle((126, 84, 50), *ends[1], 7.5)
        layer.circle((92, 58, 36), *ends[1], 4)
    for side in (-70, 70):
        layer.stroke((34, 30, 32), [(x + side, 482), (x + side, 440)], 5)
        layer.circle((70, 62, 58), x + side, 438, 6)


def window(layer: Layer, x: float, y: float, width: float, height: float) -> None:
    """Draws a leaded window into the night."""
    plank(layer, shade(OAK, 1.05), x - 16, y - 16, width + 32, height + 32, 31)
    layer.rect(shade(OAK, 0.5), x - 5, y - 5, width + 10, height + 10, 2)
    for row in range(12):
        colour = mix((28, 38, 72), (66, 84, 122), row / 11)
        layer.rect(colour, x, y + row * height / 12, width, height / 12 + 1)
    layer.polygon(
        (22, 28, 46),
        [
            (x, y + height),
            (x, y + height * 0.72),
            (x + width * 0.3, y + height * 0.6),
            (x + width * 0.55, y + height * 0.74),
            (x + width * 0.8, y + height * 0.64),
            (x + width, y + height * 0.76),
            (x + width, y + height),
        ],
    )
    layer.rect((255, 214, 130), x + width * 0.2, y + height * 0.8, 6, 8)
    layer.rect((255, 214, 130), x + width * 0.7, y + height * 0.84, 5, 7)


def herbs(layer: Layer, x: float, length: float, seed: int) -> None:
    """Draws a bunch of dried herbs that hangs from the ceiling."""
    chance, top = random.Random(seed), 40 + length
    layer.stroke((120, 96, 64), [(x, 36), (x, top)], 1.5)
    for number in range(9):
        lean = (number - 4) * 5.5 + chance.uniform(-2, 2)
        tip = (x + lean, top + chance.uniform(40, 58))
        stem = curve((x, top), (x + lean * 0.3, top + 24), tip, 6)
        layer.stroke((96, 104, 58), stem, 1.6)
        for px, py in stem[2:]:
            green = mix((92, 112, 56), (146, 138, 74), chance.random())
            layer.ellipse(green, px + chance.uniform(-3, 3), py, 3.4, 5)
    layer.rect((150, 60, 48), x - 5, top + 4, 10, 6, 2)


def lead(layer: Layer, x: float, y: float, width: float, height: float) -> None:
    """Draws the bars of the window and its sill."""
    for part in (1 / 3, 2 / 3):
        layer.rect(shade(OAK, 0.6), x + width * part - 2, y, 4, height)
    for part in (0.25, 0.5, 0.75):
        layer.rect(shade(OAK, 0.6), x, y + height * part - 1.5, width, 3)
    layer.rect(shade(OAK, 1.1), x - 20, y + height + 8, width + 40, 12, 3)
