"""What a request asks for, checked against what the pipeline can do."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from PIL import Image

from ..._image_data import Pixels, decode_image, encode_image, flattened
from ..._values import invalid
from ...errors import ArgumentError
from .options import MAX_STEPS
from .shape import Shape

_SEEDS = 1 << 32
_QUALITIES = {"low": 0.5, "high": 1.5, "hd": 1.5}  # of the pipeline's number of steps
_STRENGTH = 0.75
_VISIBLE = 128  # alpha from which on a pixel is opaque, luminance from which on it is white


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A checked request."""

    prompt: str
    negative_prompt: str
    count: int
    width: int
    height: int
    steps: int  # that the scheduler divides the noise into
    computed: int  # of them, fewer if generation starts from an image; 0: the image is returned as it is
    strength: float
    guidance: float | None
    seed: int
    image: Pixels | None
    mask: Pixels | None  # white: generated
    previews: int
    output_format: str
    compression: int
    as_data: bool
    model: str | None  # for the metadata; None: no metadata

    @property
    def units(self) -> int:
        """Denoise steps, and for each image one unit to decode and encode it."""
        return self.count * (self.computed + 1)

    def seed_of(self, index: int) -> int:
        """Returns the seed of an image."""
        return (self.seed + index) % _SEEDS

    def previews_after(self) -> dict[int, int]:
        """Returns the numbers of steps after which a preview is made, with the index of the preview."""
        parts = self.previews + 1
        places = (round(self.computed * at / parts) for at in range(1, parts))
        return {place: at for at, place in enumerate(places) if 0 < place < self.computed}

    def encoded(self, image: Pixels, index: int) -> bytes:
        """Returns an image as a file."""
        metadata = None if self.model is None else self._metadata(index)
        return encode_image(image, self.output_format, self.compression, metadata)

    def _metadata(self, index: int) -> dict[str, str]:
        told = {
            "Software": "Sotto",
            "model": self.model or "",
            "prompt": self.prompt,
            "negative_prompt": self.negative_prompt,
            "seed": str(self.seed_of(index)),
            "steps": str(self.steps),
            "guidance_scale": "" if self.guidance is None else f"{self.guidance:g}",
        }
        return {name: text for name, text in told.items() if text}


def plan_of(body: Mapping[str, Any], shape: Shape, steps: int, guidance: float | None, model: str) -> Plan:
    """Reads a request. Raises `ArgumentError` for sizes and images that the pipeline cannot take.

    Args:
        body: The request's JSON object, whose types and ranges the engine has checked.
        shape: Sizes of the pipeline.
        steps: Denoise steps where the body does not say it.
        guidance: Guidance scale, likewise; None: the pipeline has none.
        model: Name of the model where the body has none.
    """
    image = decode_image("image", body["image"]) if "image" in body else None
    mask = _mask(body["mask"], image) if "mask" in body and image is not None else None
    width, height = _size(body.get("size", "auto"), shape, image)
    strength = float(body.get("strength", _STRENGTH)) if image is not None else 1.0
    count = int(body.get("steps") or _quality_steps(body.get("quality", "auto"), steps))
    seed = int(body.get("seed", -1))
    fitted = (width, height)
    return Plan(
        prompt=body["prompt"],
        negative_prompt=body.get("negative_prompt", ""),
        count=int(body.get("n", 1)),
        width=width,
        height=height,
        steps=count,
        computed=max(1, int(count * strength)) if strength > 0 else 0,
        strength=strength,
        guidance=float(body["guidance_scale"]) if "guidance_scale" in body else guidance,
        seed=secrets.randbelow(_SEEDS) if seed < 0 else seed,
        image=None if image is None else flattened(image).resize(fitted, Image.Resampling.LANCZOS),
        mask=None if mask is None else mask.resize(fitted, Image.Resampling.NEAREST),
        previews=int(body.get("partial_images", 0)),
        output_format=body.get("output_format", "png"),
        compression=int(body.get("output_compression", 100)),
        as_data=body.get("response_format") == "data",
        model=body.get("model", model) if body.get("embed_metadata", True) else None,
    )


def _quality_steps(quality: str, steps: int) -> int:
    return min(MAX_STEPS, max(1, round(steps * _QUALITIES.get(quality, 1.0))))


def _mask(value: str, image: Pixels) -> Pixels:
    mask = decode_image("mask", value)
    if mask.size != image.size:
        raise ArgumentError(
            f"invalid mask of {_by(*mask.size)} pixels: expected {_by(*image.size)}, the size of image"
        )
    alpha = mask.getchannel("A") if mask.mode == "RGBA" else None
    if alpha is not None and alpha.getextrema()[0] < _VISIBLE:
        return alpha.point(lambda value: 255 * (value < _VISIBLE))
    return mask.convert("L").point(lambda value: 255 * (value >= _VISIBLE))


def _size(size: str, shape: Shape, image: Pixels | None) -> tuple[int, int]:
    by = shape.multiple
    if size == "auto":
        if image is None:
            return shape.width, shape.height
        size = _by(*(max(by, side // by * by) for side in image.size))
    width, height = map(int, size.split("x"))
    if width % by or height % by:
        near = _by(*(max(by, round(side / by) * by) for side in (width, height)))
        raise ArgumentError(invalid("size", size, f"multiples of {by} for this pipeline; use {near}"))
    if width * height > shape.max_pixels:
        raise ArgumentError(
            invalid(
                "size",
                size,
                f"at most {shape.max_pixels:,} pixels for this pipeline, whose own size is "
                f"{_by(shape.width, shape.height)}; set size, or raise the load option max_pixels",
            )
        )
    return width, height


def _by(width: int, height: int) -> str:
    return f"{width}x{height}"
