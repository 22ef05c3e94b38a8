"""Composes pictures of known alpha.

A picture has one thing, sometimes two, over a background; shadow, blur, noise and JPEG come at random.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageFilter

import held_things
import scenery
from things import thing

Bytes = NDArray[np.uint8]
Source = Callable[[Generator], Image.Image]

TEST_SEED, TEST_COUNT, TEST_SIZE = 20261129, 100, 512


@dataclass(frozen=True)
class Composed:
    """A picture and its true alpha.

    Attributes:
        rgb: The picture, of shape (H, W, 3).
        alpha: The foreground's opacity, of shape (H, W); 255 is opaque.
    """

    rgb: Bytes
    alpha: Bytes


def recoloured(image: Image.Image, rng: Generator) -> Image.Image:
    """Returns the picture with its saturation, brightness and contrast changed at random; keeps alpha."""
    rgb = image.convert("RGB")
    for enhance in (ImageEnhance.Color, ImageEnhance.Brightness, ImageEnhance.Contrast):
        rgb = enhance(rgb).enhance(rng.uniform(0.65, 1.35))
    if rng.random() < 0.25:
        turned = np.roll(np.asarray(rgb.convert("HSV")), 0)
        turned[..., 0] += np.uint8(rng.integers(256))
        rgb = Image.fromarray(turned, "HSV").convert("RGB")
    if image.mode == "RGBA":
        rgb.putalpha(image.getchannel("A"))
    return rgb


def trimmed(image: Image.Image) -> Image.Image:
    """Returns the picture without its empty border."""
    area = image.getchannel("A").point(lambda a: 255 * (a > 8)).getbbox()
    return image.crop(area) if area else image


def placed(image: Image.Image, rng: Generator, size: int, share: tuple[float, float]) -> Image.Image:
    """Returns a canvas of `size` pixels with the thing on it: mirrored, turned, scaled, moved.

    Args:
        image: RGBA.
        rng: Source of the choices.
        size: Side of the canvas, in pixels.
        share: Range of the thing's longer side, as a share of the canvas.
    """
    if rng.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    angle = rng.normal(0, 12) if rng.random() < 0.7 else rng.uniform(-180, 180)
    image = trimmed(image.rotate(angle, Image.Resampling.BICUBIC, expand=True))
    scale = rng.uniform(*share) * size / max(image.size)
    stretch = rng.uniform(0.9, 1.1)
    wide, high = max(2, round(image.width * scale * stretch)), max(2, round(image.height * scale / stretch))
    image = image.resize((wide, high), Image.Resampling.BICUBIC)
    free = (size - wide, size - high)
    x, y = (
        round(room / 2 + np.clip(rng.normal(0, 0.25), -0.55, 0.55) * max(room, size / 12)) for room in free
    )
    canvas = Image.new("RGBA", (size, size))
    canvas.paste(image, (x, y))
    return canvas


def shaded(background: Image.Image, alpha: Image.Image, rng: Generator) -> Image.Image:
    """Returns the background with the foreground's blurred shadow on it."""
    size = background.width
    shadow = Image.new("L", alpha.size)
    shadow.paste(alpha, (round(rng.normal(0, 0.03) * size), round(rng.uniform(0, 0.06) * size)))
    small = shadow.resize((size // 4, size // 4)).filter(
        ImageFilter.GaussianBlur(rng.uniform(0.005, 0.03) * size / 4)
    )
    strength = rng.uniform(0.2, 0.7)
    cover = small.resize(alpha.size, Image.Resampling.BILINEAR).point(lambda a: int(strength * a))
    return Image.composite(Image.new("RGB", background.size), background, cover)


def worn(image: Image.Image, rng: Generator) -> Image.Image:
    """Returns the picture after what cameras and files do: light, blur, noise, JPEG."""
    if rng.random() < 0.3:
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.2, 0.9) * image.width / 512))
    if rng.random() < 0.4:
        image = ImageEnhance.Brightness(image).enhance(rng.uniform(0.75, 1.2))
    if rng.random() < 0.35:
        pixels = np.asarray(image, np.int16) + rng.normal(
            0, rng.uniform(2, 10), (*image.size[::-1], 1)
        ).astype(np.int16)
        image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8), "RGB")
    if rng.random() < 0.5:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=int(rng.integers(35, 96)))
        image = Image.open(file).convert("RGB")
    return image


def composed(foreground: Source, background: Source, rng: Generator, size: int) -> Composed:
    """Returns one picture of `size` x `size` pixels, with things of `foreground` over one of `background`."""
    behind = recoloured(background(rng), rng).resize((size, size), Image.Resampling.BILINEAR)
    if rng.random() < 0.3:
        behind = behind.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 5) * size / 512))
    front = placed(recoloured(foreground(rng), rng), rng, size, (0.45, 0.98))
    if rng.random() < 0.12:
        front.alpha_composite(placed(recoloured(foreground(rng), rng), rng, size, (0.4, 0.7)))
    alpha = front.getchannel("A")
    if rng.random() < 0.35:
        behind = shaded(behind, alpha, rng)
    behind.paste(front, (0, 0), alpha)
    return Composed(np.asarray(worn(behind, rng)), np.asarray(alpha))


def held_pictures(
    count: int = TEST_COUNT, size: int = TEST_SIZE, *, foreground: Source | None = None, seed: int = TEST_SEED
) -> Iterator[Composed]:
    """Yields the test pictures: things of families, and over kinds of backgrounds, that are never trained.

    Args:
        count: Number of pictures. Picture k is the same for every count.
        size: Width and height, in pixels.
        foreground: Source of the things, as RGBA; `None`: `held_things.HELD`, which needs no download.
        seed: Seed of all choices.
    """
    front = foreground or (lambda rng: thing(held_things.HELD, rng))
    for k in range(count):
        rng = np.random.default_rng((seed, k))
        yield composed(front, lambda rng: scenery.backdrop(scenery.HELD, rng, size), rng, size)
