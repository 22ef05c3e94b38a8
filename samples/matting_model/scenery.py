"""Makes backgrounds by procedure: colours, noise, tiles, landscapes, rooms, clutter, lights, wood, marble.

`TRAINED` kinds make training pictures only, `HELD` kinds are added in test pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from PIL import Image, ImageDraw, ImageFilter

from sketching import Array, Colour, colour, noise

Make = Callable[[Generator, int], Image.Image]


def picture(pixels: Array) -> Image.Image:
    """Returns the RGB image of an array of shape (H, W, 3) in 0..1."""
    return Image.fromarray((np.clip(pixels, 0, 1) * 255 + 0.5).astype(np.uint8), "RGB")


def eight_bit(fill: Colour) -> tuple[int, int, int]:
    """Returns the colour in 0..255."""
    return (int(255 * fill[0]), int(255 * fill[1]), int(255 * fill[2]))


def mixed(share: Array, first: Colour, second: Colour) -> Array:
    """Returns colours between the two, of shape (H, W, 3), by a share of shape (H, W) in 0..1."""
    a, b = np.asarray(first, np.float32), np.asarray(second, np.float32)
    return a + (b - a) * share[..., None]


def grid(size: int) -> tuple[Array, Array]:
    """Returns x and y of every pixel, from -1 to 1."""
    line = np.linspace(-1, 1, size, dtype=np.float32)
    x, y = np.meshgrid(line, line)
    return x, y


def plain(rng: Generator, size: int) -> Image.Image:
    """One colour; often white, grey or black, as on product pictures."""
    fill = colour(rng) if rng.random() < 0.6 else (rng.choice([0.0, 0.5, 0.93, 1.0]),) * 3
    return Image.new("RGB", (size, size), eight_bit(fill))


def gradient(rng: Generator, size: int) -> Image.Image:
    """A linear or radial gradient."""
    x, y = grid(size)
    if rng.random() < 0.5:
        angle = rng.uniform(0, math.tau)
        share = 0.5 + 0.4 * (x * math.cos(angle) + y * math.sin(angle))
    else:
        share = np.hypot(x - rng.normal(0, 0.3), y - rng.normal(0, 0.3)) * rng.uniform(0.5, 1.2)
    return picture(mixed(np.clip(share, 0, 1), colour(rng), colour(rng)))


def clouds(rng: Generator, size: int) -> Image.Image:
    """Fractal noise between two or three colours."""
    share = noise(rng, size, size, rng.uniform(2, 12), int(rng.integers(1, 6)))
    share = np.clip((share - 0.5) * rng.uniform(1, 3) + 0.5, 0, 1)
    pixels = mixed(share, colour(rng), colour(rng))
    if rng.random() < 0.5:
        other = noise(rng, size, size, rng.uniform(2, 5), 2)[..., None]
        pixels = pixels * (1 - other) + np.asarray(colour(rng), np.float32) * other
    return picture(pixels)


def tiles(rng: Generator, size: int) -> Image.Image:
    """Stripes, a chequerboard, or bricks with joints; every tile of a slightly different tone."""
    x, y = grid(size)
    angle, scale = rng.choice([0.0, rng.uniform(0, math.pi)]), rng.uniform(2, 10)
    u = (x * math.cos(angle) + y * math.sin(angle)) * scale + 50
    v = (y * math.cos(angle) - x * math.sin(angle)) * scale * rng.uniform(1, 2.5) + 50
    kind = rng.integers(3)
    if kind == 0:
        return picture(mixed((u % 1 < rng.uniform(0.2, 0.8)).astype(np.float32), colour(rng), colour(rng)))
    if kind == 1:
        return picture(
            mixed(((u.astype(int) + v.astype(int)) % 2).astype(np.float32), colour(rng), colour(rng))
        )
    u = u + 0.5 * (v.astype(int) % 2)
    tone = rng.uniform(0.7, 1.1, (200, 200)).astype(np.float32)[u.astype(int) % 200, v.astype(int) % 200]
    joint = ((u % 1 < 0.06) | (v % 1 < 0.1)).astype(np.float32)
    grain = 0.8 + 0.4 * noise(rng, size, size, 20, 2)
    return picture(mixed(joint, colour(rng), colour(rng)) * (tone * grain)[..., None])


def landscape(rng: Generator, size: int) -> Image.Image:
    """A sky, rows of hills behind each other, ground with texture."""
    y = grid(size)[1]
    pixels = mixed(np.clip(y * 0.5 + 0.5, 0, 1), colour(rng, (0.5, 1)), colour(rng, (0.5, 1)))
    tint, haze = (
        np.asarray(colour(rng, (0.1, 0.7)), np.float32),
        np.asarray(colour(rng, (0.6, 1)), np.float32),
    )
    count = int(rng.integers(2, 5))
    for k in range(count):
        level = rng.uniform(-0.3, 0.1) + 0.8 * k / count
        ridge = level + 0.6 / (1 + k) * (noise(rng, size, 2, rng.uniform(3, 9), 4)[0] - 0.5)
        near = (k + 1) / count
        ground = (tint * near + haze * (1 - near)) * (0.7 + 0.6 * noise(rng, size, size, 30, 3))[..., None]
        pixels = np.where((y > ridge[None, :])[..., None], ground, pixels)
    return picture(pixels)


def clutter(rng: Generator, size: int) -> Image.Image:
    """Many shapes and lines over each other, out of focus."""
    image = plain(rng, size)
    draw = ImageDraw.Draw(image)
    for _ in range(int(rng.integers(15, 120))):
        x, y = rng.uniform(-0.1, 1.1, 2) * size
        w, h = rng.uniform(0.02, 0.3, 2) * size
        fill, kind = eight_bit(colour(rng)), rng.integers(4)
        if kind == 0:
            draw.ellipse((x, y, x + w, y + h), fill)
        elif kind == 1:
            draw.rectangle((x, y, x + w, y + h), fill)
        elif kind == 2:
            draw.polygon([tuple(p) for p in rng.uniform(-0.15, 0.15, (4, 2)) * size + (x, y)], fill)
        else:
            draw.line((x, y, *(rng.uniform(0, 1, 2) * size)), fill, int(rng.integers(1, 8)))
    return image.filter(ImageFilter.GaussianBlur(rng.uniform(0.006, 0.03) * size))


def bokeh(rng: Generator, size: int) -> Image.Image:
    """Translucent discs of light over a gradient."""
    image = gradient(rng, size)
    for _ in range(int(rng.integers(8, 40))):
        cover = Image.new("L", (size // 4, size // 4))
        x, y, r = *(rng.uniform(0, 1, 2) * size / 4), rng.uniform(0.01, 0.09) * size / 4
        ImageDraw.Draw(cover).ellipse((x - r, y - r, x + r, y + r), int(rng.uniform(40, 160)))
        image.paste(
            eight_bit(colour(rng, (0.5, 1))), mask=cover.resize((size, size), Image.Resampling.BICUBIC)
        )
    return image


def meadow(rng: Generator, size: int) -> Image.Image:
    """Short strokes in similar colours: grass, straw, rain."""
    base = np.asarray(colour(rng, (0.2, 0.9)))
    image = Image.new("RGB", (size, size), eight_bit(tuple(base)))
    draw, angle = ImageDraw.Draw(image), rng.uniform(0, math.pi)
    for x, y in rng.uniform(-0.05, 1.05, (int(rng.integers(300, 900)), 2)) * size:
        turn, length = angle + rng.normal(0, 0.3), rng.uniform(0.02, 0.09) * size
        tone = eight_bit(tuple(np.clip(base * rng.uniform(0.6, 1.4), 0, 1)))
        draw.line(
            (x, y, x + length * math.cos(turn), y - length * math.sin(turn)), tone, int(rng.integers(1, 4))
        )
    return image.filter(ImageFilter.GaussianBlur(rng.uniform(0, 0.008) * size))


def page(rng: Generator, size: int) -> Image.Image:
    """Lines of marks, as text or an interface."""
    image = plain(rng, size)
    draw, ink, step = ImageDraw.Draw(image), eight_bit(colour(rng)), int(rng.integers(size // 40, size // 12))
    for y in range(step, size, 2 * step):
        x = step
        while x < size * rng.uniform(0.6, 1):
            end = x + rng.uniform(0.5, 5) * step
            draw.rectangle((x, y, end, y + step * 0.7), ink)
            x = end + step
    return image


def wood(rng: Generator, size: int) -> Image.Image:
    """Boards with a grain."""
    x, y = grid(size)
    warp = noise(rng, size, size, 3, 3) * rng.uniform(0.5, 2)
    share = 0.5 + 0.5 * np.sin((x * 0.15 + warp) * rng.uniform(15, 60)).astype(np.float32)
    board = rng.uniform(0.75, 1.1, 64).astype(np.float32)[((y + 1) * rng.uniform(1.5, 5)).astype(int)]
    return picture(mixed(share, colour(rng, (0.2, 0.8)), colour(rng, (0.2, 0.8))) * board[..., None])


def marble(rng: Generator, size: int) -> Image.Image:
    """Veins of warped noise; test pictures only."""
    first, second = noise(rng, size, size, 4, 5), noise(rng, size, size, 3, 4)
    vein = np.abs(np.sin((first + second) * rng.uniform(8, 20))) ** rng.uniform(0.3, 2)
    return picture(mixed(vein, colour(rng), colour(rng)))


def room(rng: Generator, size: int) -> Image.Image:
    """A wall, a floor in perspective, windows and frames; test pictures only."""
    image = Image.new("RGB", (size, size), eight_bit(colour(rng, (0.3, 1))))
    draw, edge = ImageDraw.Draw(image), rng.uniform(0.55, 0.8) * size
    draw.rectangle((0, edge, size, size), eight_bit(colour(rng, (0.1, 0.7))))
    seam = eight_bit(colour(rng, (0.1, 0.6)))
    for x in np.linspace(-1, 2, int(rng.integers(8, 20))):
        draw.line((size * (0.5 + (x - 0.5) * 0.6), edge, size * x, size), seam, 2)
    for _ in range(int(rng.integers(1, 4))):
        x, y, w, h = (
            rng.uniform(0, 0.8) * size,
            rng.uniform(0.05, 0.2) * size,
            size * 0.18,
            size * rng.uniform(0.2, 0.3),
        )
        draw.rectangle((x, y, x + w, y + h), eight_bit(colour(rng, (0.5, 1))), seam, 4)
    shade = noise(rng, size, size, 2, 2)[..., None] * 0.6 + 0.6
    lit = picture(np.asarray(image, np.float32) / 255 * shade)
    return lit.filter(ImageFilter.GaussianBlur(rng.uniform(0, 0.012) * size))


TRAINED: tuple[Make, ...] = (plain, gradient, clouds, clouds, tiles, landscape, landscape, clutter, clutter)
TRAINED += (bokeh, meadow, page, wood)
HELD: tuple[Make, ...] = (*dict.fromkeys(TRAINED), marble, marble, room, room)


def backdrop(kinds: tuple[Make, ...], rng: Generator, size: int) -> Image.Image:
    """Returns a random background of the kinds: RGB, `size` pixels wide and high."""
    return kinds[int(rng.integers(len(kinds)))](rng, size)
