"""Sizes of a pipeline, from its configuration files: of its images, and of the memory that they need."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ModelLoadError
from .files import Pipeline, read_object
from .options import BYTES, Options

DENOISERS = ("transformer", "unet")
_LATENT_SIDE = 128  # where a configuration does not say it: that of FLUX and Qwen-Image
_STEP = 8  # the least multiple that all pipelines take
_DECODED = 4.5  # tensors of the decoder's last resolution that live at the same time, measured: docs
_DENOISED = 40  # tensors of a denoiser's widest resolution, likewise


class Shape(NamedTuple):
    """Image sizes in pixels, and memory in bytes.

    Attributes:
        width: Width of an image where a request does not say it.
        height: Its height.
        multiple: What width and height must be divisible by.
        max_pixels: Maximum pixels of an image.
        compute: Estimated memory of generating the largest image.
    """

    width: int
    height: int
    multiple: int
    max_pixels: int
    compute: int


def shape_of(folder: Path, pipeline: Pipeline, options: Options) -> Shape:
    """Reads the sizes. Raises `ModelLoadError` if the pipeline has no denoiser or no autoencoder."""
    names = {part.name for part in pipeline.parts}
    found = [name for name in DENOISERS if name in names]
    if not found or "vae" not in names:
        raise ModelLoadError(
            f"'{folder}' is a {pipeline.kind}: expected a pipeline with a transformer or unet, and a vae"
        )
    denoiser = read_object(folder / found[0] / "config.json")
    vae = read_object(folder / "vae" / "config.json")
    channels = _numbers(vae.get("block_out_channels") or vae.get("encoder_block_out_channels")) or [128] * 4
    scale = 1 << (len(channels) - 1)
    high, low = (_numbers(denoiser.get("sample_size")) * 2 or [_LATENT_SIDE] * 2)[:2]
    patch = max(_numbers(denoiser.get("patch_size")) or [1])
    packs = 1 if "sample_size" in denoiser else 2  # FLUX and Qwen-Image pack 2 x 2 latents into a token
    multiple = math.lcm(_STEP, scale * max(patch, packs))
    width, height = (max(multiple, side * scale // multiple * multiple) for side in (low, high))
    most = options.max_pixels or 2 * width * height
    tile = (_numbers(vae.get("sample_size")) or [512])[0] if options.tiling else 0
    compute = max(_decoding(most, channels, tile), _denoising(most, scale * patch, denoiser, options))
    return Shape(width, height, multiple, most, compute)


def _decoding(pixels: int, channels: list[int], tile: int) -> int:
    tensor = min(pixels, tile * tile or pixels) * channels[min(1, len(channels) - 1)] * BYTES["float32"]
    return round(_DECODED * tensor) + 8 * 3 * BYTES["float32"] * pixels


def _denoising(pixels: int, scale: int, denoiser: Mapping[str, Any], options: Options) -> int:
    widths = _numbers(denoiser.get("block_out_channels"))
    heads, head = _numbers(denoiser.get("num_attention_heads")), _numbers(denoiser.get("attention_head_dim"))
    width = widths[0] if widths else math.prod([*heads[:1], *head[:1]])
    return 2 * _DENOISED * (pixels // scale**2) * width * BYTES[options.dtype]  # 2: with guidance


def _numbers(value: object) -> list[int]:
    """The whole numbers from 1 on of a number or a list."""
    given = value if isinstance(value, list) else [value]
    return [one for one in given if isinstance(one, int) and not isinstance(one, bool) and one > 0]
