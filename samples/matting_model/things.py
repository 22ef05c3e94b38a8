"""Draws things of games with their true alpha: characters, weapons, potions, plants, and random assemblies.

Every function of a family draws one random thing into a sketch. `TRAINED` families make training
pictures only, `HELD` families make test pictures only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from numpy.random import Generator
from PIL import Image

from sketching import Colour, Point, Sketch, blob, colour, curve, mirrored, turned

Draw = Callable[[Sketch, Generator], None]


def box(x0: float, y0: float, x1: float, y1: float) -> list[Point]:
    """Returns the corners of a rectangle."""
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def fringe(
    s: Sketch, rng: Generator, centre: Point, radius: Point, fill: Colour, span: Point, count: int
) -> None:
    """Adds thin curved strokes that leave an ellipse between two angles: hair, fur, grass."""
    lines = []
    for angle in rng.uniform(*span, count):
        direction = (math.cos(angle), math.sin(angle))
        start = (centre[0] + radius[0] * direction[0] * 0.8, centre[1] + radius[1] * direction[1] * 0.8)
        length = rng.uniform(0.05, 0.3)
        middle = (start[0] + length * direction[0], start[1] + length * direction[1])
        end = (middle[0] + rng.normal(0, 0.08), middle[1] + rng.uniform(0, 0.2))
        lines.append(curve(start, middle, end, count=7))
    s.strokes(lines, rng.uniform(0.006, 0.02), fill)


def hero(s: Sketch, rng: Generator) -> None:
    """Draws a character: limbs, robe, head, hair."""
    skin, robe, hair = colour(rng, (0.4, 1)), colour(rng), colour(rng)
    wide, tall = rng.uniform(0.2, 0.36), rng.uniform(0.35, 0.55)
    for side in (-1, 1):
        s.strokes([[(side * wide * 0.5, 0.3), (side * wide * rng.uniform(0.4, 0.9), 0.95)]], 0.1, colour(rng))
        hand = (side * rng.uniform(0.35, 0.8), rng.uniform(-0.4, 0.6))
        s.strokes([curve((side * wide * 0.8, -0.2), (side * 0.5, 0.1), hand)], rng.uniform(0.06, 0.12), robe)
        s.oval(hand, (0.07, 0.07), skin)
    s.poly(mirrored([(0.1, -0.3), (wide, -0.22), (wide * rng.uniform(0.8, 1.6), -0.25 + 2 * tall)]), robe)
    if rng.random() < 0.5:
        s.poly(box(-wide, 0.2, wide, 0.28), colour(rng))
    head = (rng.normal(0, 0.03), rng.uniform(-0.58, -0.48))
    radius = (rng.uniform(0.16, 0.26), rng.uniform(0.18, 0.28))
    if rng.random() < 0.7:
        fringe(s, rng, head, radius, hair, (math.pi, 2 * math.pi), int(rng.integers(20, 70)))
    s.oval((head[0], head[1] - 0.05), (radius[0] * 1.1, radius[1]), hair)
    s.oval(head, radius, skin)
    for side in (-1, 1):
        s.oval((head[0] + side * 0.07, head[1]), (0.025, 0.035), colour(rng, (0, 0.3)))


def sword(s: Sketch, rng: Generator) -> None:
    """Draws a blade with guard and grip."""
    wide, guard = rng.uniform(0.04, 0.13), rng.uniform(0.15, 0.4)
    steel, bend = colour(rng, (0.5, 1)), rng.normal(0, 0.12)
    right = curve((wide, 0.45), (wide + bend, -0.3), (bend, -0.95))
    left = curve((bend, -0.95), (-wide + bend, -0.3), (-wide, 0.45))
    s.poly([*right, *left], steel)
    s.strokes([curve((0, 0.4), (bend, -0.3), (bend, -0.8))], 0.015, colour(rng))
    s.strokes([[(-0.0, 0.45), (0, 0.85)]], rng.uniform(0.05, 0.1), colour(rng, (0.1, 0.7)))
    lift = rng.normal(0, 0.12)
    s.strokes([curve((-guard, 0.45 + lift), (0, 0.45), (guard, 0.45 + lift))], 0.07, colour(rng))
    s.oval((0, 0.88), (0.08, 0.08), colour(rng))


def potion(s: Sketch, rng: Generator) -> None:
    """Draws a flask: translucent glass, liquid, cork."""
    glass, wide = colour(rng, (0.6, 1)), rng.uniform(0.3, 0.6)
    neck = rng.uniform(0.1, 0.2)
    body = blob(rng, (0, 0.3), (wide, rng.uniform(0.45, 0.6)), rng.choice([0.0, 0.05]))
    s.poly(body, glass, rng.uniform(0.55, 0.9))
    s.poly(box(-neck, -0.65, neck, -0.05), glass, rng.uniform(0.55, 0.9))
    level = rng.uniform(0.05, 0.4)
    liquid = [(x * 0.88, max(level, 0.3 + (y - 0.3) * 0.88)) for x, y in body]
    s.poly(liquid, colour(rng), rng.uniform(0.7, 1))
    s.poly(box(-neck * 1.2, -0.9, neck * 1.2, -0.6), colour(rng))
    s.oval((-wide * 0.4, 0.1), (0.07, 0.15), (1, 1, 1), 0.6, 0.03)


def coin(s: Sketch, rng: Generator) -> None:
    """Draws a coin with a rim and a star."""
    metal, squeeze = colour(rng, (0.4, 1)), rng.uniform(0.3, 1)
    s.oval((0.08 * (1 - squeeze), 0.03), (0.75 * squeeze, 0.75), tuple(0.6 * c for c in metal))
    s.oval((0, 0), (0.75 * squeeze, 0.75), metal)
    s.oval((0, 0), (0.6 * squeeze, 0.6), colour(rng, (0.4, 1)))
    s.poly([(x * squeeze, y) for x, y in star_points(rng, 0.45)], metal)


def star_points(rng: Generator, radius: float) -> list[Point]:
    """Returns the outline of a star of four to eight points."""
    count, inner = int(rng.integers(4, 9)), rng.uniform(0.35, 0.65)
    return [
        (
            radius * (1 if k % 2 == 0 else inner) * math.sin(math.pi * k / count),
            -radius * (1 if k % 2 == 0 else inner) * math.cos(math.pi * k / count),
        )
        for k in range(2 * count)
    ]


def shield(s: Sketch, rng: Generator) -> None:
    """Draws a shield with a border and a device."""
    wide, low = rng.uniform(0.5, 0.75), rng.uniform(0.6, 0.95)
    half = [
        (0, -0.8),
        *curve((wide * 0.5, -0.85), (wide, -0.8)),
        *curve((wide, 0), (wide * 0.8, 0.5), (0, low)),
    ]
    s.poly(mirrored(half), colour(rng))
    s.poly([(x * 0.85, y * 0.85) for x, y in mirrored(half)], colour(rng))
    if rng.random() < 0.5:
        s.poly(box(-0.08, -0.7, 0.08, low * 0.8), colour(rng))
    else:
        s.poly(star_points(rng, 0.35), colour(rng))


def gem(s: Sketch, rng: Generator) -> None:
    """Draws a cut stone, opaque or translucent."""
    wide, top, deep = rng.uniform(0.45, 0.8), rng.uniform(-0.6, -0.3), rng.uniform(0.4, 0.9)
    base, clear = colour(rng, (0.4, 1)), rng.choice([1.0, 0.8])
    outer = [(-wide, top + 0.3), (-wide * 0.6, top), (wide * 0.6, top), (wide, top + 0.3), (0, deep)]
    s.poly(outer, base, clear)
    for k in range(4):
        face = [outer[k], outer[k + 1], (0, top + 0.35)]
        s.poly(face, tuple(min(1, c * rng.uniform(0.5, 1.5)) for c in base), clear)


def tree(s: Sketch, rng: Generator) -> None:
    """Draws a tree or bush: trunk, crown of blobs, twigs."""
    leaf = colour(rng)
    s.poly([(-0.12, 0.95), (-0.06, 0), (0.06, 0), (0.12, 0.95)], colour(rng, (0.1, 0.6)))
    for _ in range(int(rng.integers(2, 6))):
        centre = (rng.normal(0, 0.25), rng.uniform(-0.6, 0))
        s.poly(blob(rng, centre, (rng.uniform(0.2, 0.4), rng.uniform(0.2, 0.35)), 0.12), leaf)
    fringe(s, rng, (0, -0.3), (0.5, 0.45), leaf, (0, math.tau), int(rng.integers(20, 90)))


def beast(s: Sketch, rng: Generator) -> None:
    """Draws a furred creature with legs, ears, tail."""
    fur, wide = colour(rng), rng.uniform(0.35, 0.6)
    for x in rng.uniform(-wide * 0.8, wide * 0.8, int(rng.integers(2, 6))):
        s.strokes(
            [curve((x, 0.3), (x * 1.2, 0.6), (x * rng.uniform(0.8, 1.5), 0.9))], rng.uniform(0.05, 0.12), fur
        )
    s.strokes([curve((wide * 0.7, 0.2), (0.9, 0.3), (0.9, rng.uniform(-0.7, 0.3)))], 0.06, fur)
    fringe(s, rng, (0, 0.1), (wide, 0.4), fur, (0, math.tau), int(rng.integers(30, 120)))
    s.poly(blob(rng, (0, 0.1), (wide, 0.4), 0.06), fur)
    head = (-wide * rng.uniform(0.2, 0.9), rng.uniform(-0.5, -0.2))
    for side in (-1, 1):
        s.poly(
            [
                (head[0] + side * 0.2, head[1]),
                (head[0] + side * 0.22, head[1] - 0.4),
                (head[0], head[1] - 0.1),
            ],
            fur,
        )
    s.oval(head, (0.27, 0.25), fur)
    for side in (-1, 1):
        s.oval((head[0] + side * 0.1, head[1]), (0.05, 0.05), colour(rng, (0.6, 1)))


def ring(s: Sketch, rng: Generator) -> None:
    """Draws a finger ring or wreath with stones."""
    radius = rng.uniform(0.45, 0.65)
    s.ring((0, 0.15), radius, rng.uniform(0.06, 0.16), colour(rng, (0.4, 1)))
    for angle in rng.uniform(0, math.tau, int(rng.integers(0, 4))):
        s.oval((radius * math.cos(angle), 0.15 + radius * math.sin(angle)), (0.09, 0.09), colour(rng))
    s.poly([(x, y - 0.5) for x, y in star_points(rng, rng.uniform(0.15, 0.3))], colour(rng))


def key(s: Sketch, rng: Generator) -> None:
    """Draws a key: bow with holes, shaft, bits."""
    metal = colour(rng)
    s.strokes([[(0, -0.3), (0, 0.9)]], rng.uniform(0.05, 0.1), metal)
    for y in rng.uniform(0.4, 0.85, int(rng.integers(1, 4))):
        s.poly(box(0, y, rng.uniform(0.15, 0.35), y + 0.1), metal)
    if rng.random() < 0.5:
        s.ring((0, -0.55), rng.uniform(0.2, 0.35), rng.uniform(0.05, 0.1), metal)
    else:
        for x, y in ((-0.18, -0.5), (0.18, -0.5), (0, -0.75)):
            s.ring((x, y), 0.18, 0.06, metal)


def flower(s: Sketch, rng: Generator) -> None:
    """Draws a flower: stem, leaves, petals."""
    petal, count = colour(rng, (0.5, 1)), int(rng.integers(4, 11))
    bend = rng.normal(0, 0.2)
    s.strokes([curve((bend, 0.95), (0, 0.4), (0, -0.2))], rng.uniform(0.03, 0.06), colour(rng))
    s.poly([(0, 0.5), *curve((0.1, 0.3), (0.5, 0.2), (0.5, 0.25)), (0.3, 0.5)], colour(rng))
    for k in range(count):
        shape = blob(rng, (0, -0.55), (rng.uniform(0.1, 0.2), 0.25), 0.02, 30)
        s.poly(turned(shape, math.tau * k / count, (0, -0.28)), petal)
    s.oval((0, -0.28), (0.14, 0.14), colour(rng))


def mushroom(s: Sketch, rng: Generator) -> None:
    """Draws a mushroom with spots."""
    wide, cap = rng.uniform(0.5, 0.85), colour(rng)
    s.poly([(-0.2, -0.1), (0.2, -0.1), (rng.uniform(0.2, 0.35), 0.85), (-0.25, 0.85)], colour(rng, (0.5, 1)))
    s.poly(curve((-wide, 0), (-wide, -1.1), (wide, -1.1), (wide, 0)), cap)
    for _ in range(int(rng.integers(0, 7))):
        s.oval((rng.uniform(-wide * 0.5, wide * 0.5), rng.uniform(-0.5, -0.15)), (0.08, 0.06), colour(rng))


def flame(s: Sketch, rng: Generator) -> None:
    """Draws a flame or a spell: soft, translucent layers."""
    for size in (1.0, 0.7, 0.4):
        sway = rng.normal(0, 0.25)
        half = [*curve((0, 0.85), (0.9 * size, 0.8), (0.4 * size, 0), (sway, -0.9 * size))]
        shape = [*half, *curve((sway, -0.9 * size), (-0.4 * size, 0), (-0.9 * size, 0.8), (0, 0.85))]
        s.poly(shape, colour(rng, (0.6, 1)), rng.uniform(0.65, 0.95), rng.uniform(0.01, 0.06))


def smoke(s: Sketch, rng: Generator) -> None:
    """Draws a cloud of soft puffs, with something solid in it or not."""
    tint = colour(rng, (0.3, 1))
    if rng.random() < 0.5:
        s.poly(blob(rng, (0, 0.2), (0.4, 0.5), 0.1), colour(rng))
    for _ in range(int(rng.integers(4, 12))):
        centre, radius = (rng.normal(0, 0.35), rng.normal(-0.1, 0.3)), rng.uniform(0.12, 0.35)
        s.oval(centre, (radius, radius), tint, rng.uniform(0.4, 0.9), rng.uniform(0.03, 0.12))


def gear(s: Sketch, rng: Generator) -> None:
    """Draws a cog with a hole."""
    teeth, metal, radius = int(rng.integers(6, 15)), colour(rng), rng.uniform(0.5, 0.7)
    s.oval((0, 0), (radius, radius), metal)
    for k in range(teeth):
        s.poly(turned(box(-0.08, -radius - 0.15, 0.08, -radius + 0.1), math.tau * k / teeth), metal)
    s.cut(blob(rng, (0, 0), (radius * 0.4, radius * 0.4), 0))


def fish(s: Sketch, rng: Generator) -> None:
    """Draws a fish with fins."""
    body, fin, tall = colour(rng), colour(rng), rng.uniform(0.25, 0.5)
    s.poly([(0.4, 0), (0.95, -0.4), (0.8, 0), (0.95, 0.4)], fin, rng.choice([0.75, 1.0]))
    s.poly([(-0.2, -tall * 0.8), (0.1, -tall - 0.3), (0.4, -tall * 0.4)], fin)
    s.poly(
        [*curve((-0.8, 0), (-0.3, -2 * tall), (0.6, 0)), *curve((0.6, 0), (-0.3, 2 * tall), (-0.8, 0))], body
    )
    s.oval((-0.5, -0.05), (0.06, 0.06), colour(rng, (0.7, 1)))


def bow(s: Sketch, rng: Generator) -> None:
    """Draws a bow and its string, or a net of thin lines."""
    deep = rng.uniform(0.4, 1.1)
    s.strokes([curve((0, -0.9), (deep, -0.4), (deep, 0.4), (0, 0.9))], rng.uniform(0.05, 0.1), colour(rng))
    s.strokes([[(0, -0.88), (-rng.uniform(0, 0.4), 0), (0, 0.88)]], 0.015, colour(rng, (0.5, 1)))
    s.strokes([[(-0.6, 0), (deep * 0.9, 0)]], 0.03, colour(rng))
    s.poly([(deep * 0.9, -0.08), (deep * 0.9 + 0.2, 0), (deep * 0.9, 0.08)], colour(rng))


def cottage(s: Sketch, rng: Generator) -> None:
    """Draws a house with windows, some of them open holes."""
    wide = rng.uniform(0.4, 0.65)
    s.poly(box(-wide, -0.15, wide, 0.85), colour(rng))
    s.poly([(-wide - 0.2, -0.1), (rng.uniform(-0.2, 0.2), -0.85), (wide + 0.2, -0.1)], colour(rng))
    s.poly(box(-0.12, 0.35, 0.12, 0.85), colour(rng, (0.1, 0.5)))
    for side in (-1, 1):
        window = box(side * wide * 0.6 - 0.1, 0.05, side * wide * 0.6 + 0.1, 0.28)
        if rng.random() < 0.2:
            s.cut(window)
        else:
            s.poly(window, colour(rng, (0.5, 1)))


def assembly(s: Sketch, rng: Generator) -> None:
    """Draws a random thing: overlapping shapes around a core, strokes, holes, fringe."""
    palette = [colour(rng) for _ in range(int(rng.integers(1, 5)))]
    for k in range(int(rng.integers(1, 7))):
        fill, spread = palette[int(rng.integers(len(palette)))], 0.0 if k == 0 else 0.35
        centre = (rng.normal(0, spread), rng.normal(0, spread))
        radius = tuple(rng.uniform(0.12, 0.65 if k == 0 else 0.45, 2))
        kind = rng.integers(4)
        if kind == 0:
            s.poly(turned(box(-radius[0], -radius[1], *radius), rng.uniform(0, 3)), fill)
        elif kind == 1:
            s.oval(centre, radius, fill)
        elif kind == 2:
            s.poly(blob(rng, centre, radius, rng.uniform(0, 0.25)), fill)
        else:
            s.strokes(
                [curve((0, 0), *(tuple(rng.normal(0, 0.5, 2)) for _ in range(2)))],
                rng.uniform(0.02, 0.15),
                fill,
            )
    if rng.random() < 0.3:
        fringe(s, rng, (0, 0), (0.4, 0.4), palette[0], (0, math.tau), int(rng.integers(20, 80)))
    if rng.random() < 0.3:
        s.cut(
            blob(rng, tuple(rng.normal(0, 0.2, 2)), (rng.uniform(0.08, 0.25), rng.uniform(0.08, 0.25)), 0.1)
        )


TRAINED: tuple[Draw, ...] = (hero, hero, sword, potion, coin, shield, gem, tree, beast, ring, key, flower)
TRAINED += (mushroom, flame, smoke, gear, fish, bow, cottage, assembly, assembly, assembly, assembly)


def thing(families: tuple[Draw, ...], rng: Generator, size: int = 320) -> Image.Image:
    """Returns a random thing of the families: RGBA, straight alpha, `size` pixels wide and high."""
    sketch = Sketch(rng, size)
    families[int(rng.integers(len(families)))](sketch, rng)
    return sketch.image()
