"""Draws parts with soft edges, shading and texture into one picture with alpha."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

Point = tuple[float, float]
Colour = tuple[float, float, float]
Array = NDArray[np.float32]


def colour(rng: Generator, value: tuple[float, float] = (0.15, 1.0)) -> Colour:
    """Returns a random colour: RGB in 0..1, its brightness within `value`."""
    return colorsys.hsv_to_rgb(rng.random(), rng.beta(1.2, 1.2), rng.uniform(*value))


def noise(rng: Generator, width: int, height: int, cells: float, octaves: int = 3) -> Array:
    """Returns value noise of shape (height, width) in 0..1; `cells` is the number of cells across."""
    total, weight = np.zeros((height, width), np.float32), 0.0
    for octave in range(octaves):
        side = max(2, round(cells * 2**octave))
        small = rng.random((max(2, round(side * height / width)), side), np.float32)
        share = 0.55**octave
        total += share * np.asarray(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC))
        weight += share
    return np.clip(total / weight, 0, 1)


def blob(rng: Generator, centre: Point, radius: Point, wobble: float, count: int = 90) -> list[Point]:
    """Returns a closed smooth outline: an ellipse whose radius varies by `wobble` (0..1)."""
    waves = [(k, rng.normal(0, wobble / k), rng.uniform(0, math.tau)) for k in range(2, 7)]
    points = []
    for angle in np.linspace(0, math.tau, count, endpoint=False):
        scale = max(0.25, 1 + sum(size * math.sin(k * angle + phase) for k, size, phase in waves))
        points.append(
            (
                centre[0] + scale * radius[0] * math.cos(angle),
                centre[1] + scale * radius[1] * math.sin(angle),
            )
        )
    return points


def curve(*control: Point, count: int = 16) -> list[Point]:
    """Returns `count` points of the Bezier curve of two to four control points."""
    n, points = len(control) - 1, []
    for t in np.linspace(0, 1, count):
        weights = [math.comb(n, i) * t**i * (1 - t) ** (n - i) for i in range(n + 1)]
        points.append(
            (
                sum(w * p[0] for w, p in zip(weights, control, strict=True)),
                sum(w * p[1] for w, p in zip(weights, control, strict=True)),
            )
        )
    return points


def turned(points: Sequence[Point], angle: float, centre: Point = (0.0, 0.0)) -> list[Point]:
    """Returns the points rotated by `angle` radians around `centre`."""
    c, s = math.cos(angle), math.sin(angle)
    return [
        (
            centre[0] + (x - centre[0]) * c - (y - centre[1]) * s,
            centre[1] + (x - centre[0]) * s + (y - centre[1]) * c,
        )
        for x, y in points
    ]


def mirrored(points: Sequence[Point]) -> list[Point]:
    """Returns the outline whose right half is `points` and whose left half is their mirror image."""
    return [*points, *((-x, y) for x, y in reversed(points))]


class Sketch:
    """A picture with alpha, made of parts. Coordinates run from -1 to 1, y downwards.

    Args:
        rng: Source of all random choices: the light, the style, textures.
        size: Side of the square picture, in pixels.
    """

    def __init__(self, rng: Generator, size: int = 320) -> None:
        self.rng, self.size = rng, size
        self.pixels = np.zeros((size, size, 4), np.float32)  # RGB times alpha, alpha
        self.light = rng.uniform(0, math.tau)
        self.shade = rng.choice([0.0, 0.35, 0.7], p=[0.25, 0.4, 0.35])
        self.grain = rng.choice([0.0, 0.25, 0.6], p=[0.4, 0.4, 0.2])
        self.rim = rng.choice([0.0, 0.4, 0.85], p=[0.35, 0.4, 0.25])

    def oval(self, centre: Point, radius: Point, fill: Colour, opacity: float = 1, soft: float = 0) -> None:
        """Adds an ellipse; `soft` is the blur of its edge, in units."""
        (x, y), (rx, ry) = centre, radius
        box = (*self._at((x - rx, y - ry)), *self._at((x + rx, y + ry)))
        self._add(lambda draw: draw.ellipse(box, 255), fill, opacity, soft)

    def poly(self, points: Sequence[Point], fill: Colour, opacity: float = 1, soft: float = 0) -> None:
        """Adds a polygon."""
        self._add(lambda draw: draw.polygon([self._at(p) for p in points], 255), fill, opacity, soft)

    def strokes(self, lines: Sequence[Sequence[Point]], width: float, fill: Colour) -> None:
        """Adds lines of a width in units as one part: limbs, hair, fringe."""
        pen = max(1, round(width * self.size))

        def draw_lines(draw: ImageDraw.ImageDraw) -> None:
            for line in lines:
                draw.line([self._at(p) for p in line], 255, pen, joint="curve")

        self._add(draw_lines, fill, 1, 0)

    def ring(self, centre: Point, radius: float, width: float, fill: Colour) -> None:
        """Adds a ring, whose hole shows what is below."""
        (x, y), pen = centre, max(1, round(width * self.size))
        box = (*self._at((x - radius, y - radius)), *self._at((x + radius, y + radius)))
        self._add(lambda draw: draw.ellipse(box, None, 255, pen), fill, 1, 0)

    def cut(self, points: Sequence[Point]) -> None:
        """Cuts a hole through all parts so far."""
        mask = self._mask(lambda draw: draw.polygon([self._at(p) for p in points], 255))
        self.pixels *= 1 - np.asarray(mask, np.float32)[..., None] / 255

    def image(self) -> Image.Image:
        """Returns the picture, RGBA with straight alpha."""
        alpha = self.pixels[..., 3:]
        straight = np.concatenate([self.pixels[..., :3] / np.maximum(alpha, 1e-4), alpha], 2)
        return Image.fromarray((np.clip(straight, 0, 1) * 255 + 0.5).astype(np.uint8), "RGBA")

    def _at(self, point: Point) -> Point:
        return ((point[0] + 1) * self.size, (point[1] + 1) * self.size)  # of the mask, twice as large

    def _mask(self, draw: Callable[[ImageDraw.ImageDraw], None]) -> Image.Image:
        large = Image.new("L", (2 * self.size, 2 * self.size))
        draw(ImageDraw.Draw(large))
        return large.reduce(2)

    def _add(
        self, draw: Callable[[ImageDraw.ImageDraw], None], fill: Colour, opacity: float, soft: float
    ) -> None:
        mask = self._mask(draw)
        if soft:
            mask = mask.filter(ImageFilter.GaussianBlur(soft * self.size / 2))
        box = mask.getbbox()
        if box is None:
            return
        mask = mask.crop(box)
        cover = np.asarray(mask, np.float32)[..., None] / 255 * opacity
        area = self.pixels[box[1] : box[3], box[0] : box[2]]
        area *= 1 - cover
        area[..., :3] += cover * self._painted(mask, fill)
        area[..., 3:] += cover

    def _painted(self, mask: Image.Image, fill: Colour) -> Array:
        """Returns the part's colours: shaded along the light, with grain and a darker rim."""
        width, height = mask.size
        tone = np.ones((height, width), np.float32)
        if self.shade:
            x, y = np.linspace(-1, 1, width), np.linspace(-1, 1, height)[:, None]
            tone += self.shade * (0.6 * (x * math.cos(self.light) + y * math.sin(self.light))).astype(
                np.float32
            )
        if self.grain:
            tone += self.grain * (noise(self.rng, width, height, self.rng.uniform(3, 14), 2) - 0.5)
        if self.rim:
            inner = np.asarray(mask.filter(ImageFilter.BoxBlur(self.size / 50)), np.float32) / 255
            tone *= 1 - self.rim * np.clip(2 - 2 * inner, 0, 1)
        return np.clip(tone[..., None] * np.asarray(fill, np.float32), 0, 1)
