"""Draws the things of the test pictures; none of these families is ever trained."""

from __future__ import annotations

import math

from numpy.random import Generator

from sketching import Sketch, blob, colour, curve, mirrored, turned
from things import Draw, box, fringe


def axe(s: Sketch, rng: Generator) -> None:
    """Draws an axe with one or two blades."""
    s.strokes([[(0, -0.75), (rng.normal(0, 0.08), 0.95)]], rng.uniform(0.05, 0.09), colour(rng, (0.1, 0.7)))
    steel, reach = colour(rng, (0.4, 1)), rng.uniform(0.4, 0.7)
    for side in (-1, 1) if rng.random() < 0.4 else (1,):
        edge = curve((side * reach, -0.85), (side * reach * 1.3, -0.4), (side * reach, 0.05))
        s.poly([(0, -0.6), *edge, (0, -0.25)], steel)
    s.poly(box(-0.09, -0.65, 0.09, -0.2), colour(rng))


def lantern(s: Sketch, rng: Generator) -> None:
    """Draws a lantern: frame, translucent panes, glowing core, a handle with a hole."""
    wide = rng.uniform(0.3, 0.45)
    metal = colour(rng, (0.1, 0.7))
    s.poly(box(-wide, -0.35, wide, 0.6), colour(rng, (0.6, 1)), rng.uniform(0.6, 0.9))
    s.oval((0, 0.15), (0.15, 0.25), colour(rng, (0.7, 1)), 0.9, 0.04)
    s.ring((0, -0.65), rng.uniform(0.2, 0.3), 0.05, metal)
    for x in (-wide, 0, wide):
        s.strokes([[(x, -0.35), (x, 0.6)]], 0.04, metal)
    s.poly([(-wide - 0.1, -0.3), (-0.15, -0.55), (0.15, -0.55), (wide + 0.1, -0.3)], metal)
    s.poly(box(-wide - 0.08, 0.55, wide + 0.08, 0.72), metal)


def banner(s: Sketch, rng: Generator) -> None:
    """Draws a banner on a pole, with a torn edge."""
    cloth = colour(rng)
    s.strokes([[(-0.6, -0.9), (-0.6, 0.95)]], 0.06, colour(rng, (0.2, 0.7)))
    low = [(x, rng.uniform(0.2, 0.5)) for x in (0.75, 0.5, 0.25, 0, -0.25, -0.5)]
    s.poly([(-0.6, -0.75), *curve((-0.2, -0.85), (0.3, -0.65), (0.75, -0.75)), *low, (-0.6, 0.4)], cloth)
    s.oval((0.05, -0.2), (0.25, 0.25), colour(rng))
    s.poly(turned(box(-0.12, -0.3, 0.12, -0.1), rng.uniform(0, 3), (0, -0.2)), colour(rng))


def helmet(s: Sketch, rng: Generator) -> None:
    """Draws a helmet with a plume of strokes."""
    steel = colour(rng, (0.3, 1))
    fringe(s, rng, (0.1, -0.4), (0.35, 0.35), colour(rng), (math.pi, 2 * math.pi), int(rng.integers(40, 110)))
    s.poly(mirrored([(0, -0.65), *curve((0.5, -0.65), (0.6, 0.1), (0.5, 0.7)), (0.15, 0.5)]), steel)
    s.poly(box(-0.4, -0.1, 0.4, 0.03), colour(rng, (0, 0.3)))
    s.poly(box(-0.04, -0.6, 0.04, 0.5), colour(rng))


def crown(s: Sketch, rng: Generator) -> None:
    """Draws a crown with jewels on its points."""
    gold, count = colour(rng, (0.4, 1)), int(rng.integers(3, 7))
    top = []
    for k in range(count):
        x = -0.7 + 1.4 * k / (count - 1)
        top += [(x, rng.uniform(-0.6, -0.4))] + ([(x + 0.7 / (count - 1), -0.05)] if k < count - 1 else [])
    s.poly([*top, (0.6, 0.55), (-0.6, 0.55)], gold)
    for x, y in top[::2]:
        s.oval((x, y), (0.08, 0.08), colour(rng))
    for x in (-0.3, 0, 0.3):
        s.oval((x, 0.35), (0.08, 0.1), colour(rng))


def owl(s: Sketch, rng: Generator) -> None:
    """Draws a bird: wings of feathers, body, large eyes."""
    plumage, wing = colour(rng), colour(rng)
    for side in (-1, 1):
        tips = [(side * rng.uniform(0.7, 0.95), y) for y in (-0.3, -0.05, 0.2, 0.45)]
        for tip in tips:
            s.poly([(side * 0.2, -0.2), tip, (side * 0.25, tip[1] + 0.25)], wing)
    fringe(s, rng, (0, 0.15), (0.4, 0.55), plumage, (0, math.pi), int(rng.integers(20, 60)))
    s.poly(blob(rng, (0, 0.1), (0.4, 0.6), 0.02), plumage)
    s.oval((0, -0.45), (0.35, 0.3), plumage)
    for side in (-1, 1):
        s.oval((side * 0.15, -0.45), (0.11, 0.11), colour(rng, (0.8, 1)))
        s.oval((side * 0.15, -0.45), (0.05, 0.05), (0.05, 0.05, 0.05))
    s.poly([(-0.05, -0.38), (0.05, -0.38), (0, -0.25)], colour(rng, (0.5, 1)))


def chest(s: Sketch, rng: Generator) -> None:
    """Draws a treasure chest with bands and a lock."""
    wood, wide = colour(rng, (0.2, 0.8)), rng.uniform(0.55, 0.8)
    s.poly(curve((-wide, -0.1), (-wide, -0.7), (wide, -0.7), (wide, -0.1)), wood)
    s.poly(box(-wide, -0.1, wide, 0.6), wood)
    band = colour(rng)
    for x in (-wide * 0.7, wide * 0.7):
        s.poly(box(x - 0.07, -0.48, x + 0.07, 0.6), band)
    s.poly(box(-wide, -0.15, wide, -0.05), band)
    s.oval((0, 0), (0.12, 0.14), colour(rng, (0.5, 1)))


def goblet(s: Sketch, rng: Generator) -> None:
    """Draws a cup on a stem, of metal or of glass, with two handles."""
    metal, wide = colour(rng, (0.4, 1)), rng.uniform(0.35, 0.55)
    for side in (-1, 1):
        s.ring((side * wide, -0.35), 0.2, 0.05, metal)
    cup = mirrored([(wide, -0.75), *curve((wide, -0.2), (wide * 0.5, 0.1), (0.06, 0.15))])
    s.poly(cup, metal, rng.choice([1.0, 0.75]))
    s.strokes([[(0, 0.1), (0, 0.7)]], 0.07, metal)
    s.oval((0, 0.8), (wide * 0.8, 0.12), metal)
    s.oval((0, -0.75), (wide, 0.1), colour(rng))


HELD: tuple[Draw, ...] = (axe, lantern, banner, helmet, crown, owl, chest, goblet)
