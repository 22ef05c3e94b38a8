"""A test double of image backends: paints noise by seed and prompt, and mattes by colour.

>>> engine.add_backend(Easel())
>>> engine.load_model("painter", path="-", backend="easel", options={"step_ms": 5})
"""

from __future__ import annotations

import base64
import io
import random
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import sotto
from sotto.backends import Backend, Model, ModelInfo, Part, Request, Source

SIZE = (48, 32)  # of an image without `size`
STEPS = 4  # without `steps`
MAX_SIDE = 512


def decoded(name: str, text: str) -> Any:
    """The pixels of an image in base64 or in a data URL."""
    try:
        return pixels_in(base64.b64decode(text.rpartition(",")[2]))
    except (OSError, SyntaxError) as error:
        raise sotto.ArgumentError(f"invalid {name}: expected an image file; {error}") from None


def pixels_in(file: bytes) -> Any:
    """The pixels of an image file."""
    return np.asarray(Image.open(io.BytesIO(file)))


def noise(seed: int, prompt: str, width: int, height: int) -> Any:
    """The picture of a seed and a prompt: height x width x 3."""
    values = random.Random(f"{seed} {prompt}").randbytes(width * height * 3)
    return np.frombuffer(values, np.uint8).reshape(height, width, 3)


def foreground(pixels: Any) -> Any:
    """The reference's alpha: 255 where a pixel differs from the upper left one."""
    differs = (pixels[:, :, :3] != pixels[0, 0, :3]).any(axis=2)
    return np.where(differs, 255, 0).astype(np.uint8)


def file_of(pixels: Any, **texts: str) -> bytes:
    """A PNG file of pixels, with texts."""
    file, info = io.BytesIO(), PngInfo()
    for name, text in texts.items():
        info.add_text(name, text)
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(file, "PNG", pnginfo=info)
    return file.getvalue()


def encoded(pixels: Any, body: Any) -> bytes:
    """Pixels in the format of a request."""
    if body.get("output_format") != "raw":
        return file_of(pixels, **({"prompt": body["prompt"]} if body.get("embed_metadata") else {}))
    alpha = np.full((*pixels.shape[:2], 1), 255, np.uint8)
    return bytes((pixels if pixels.shape[2] != 3 else np.concatenate([pixels, alpha], axis=2)).tobytes())


class Painter(Model):
    """Paints in steps. Options: `fail`, the text of an exception of each step; `step_ms`, time of a step."""

    def __init__(self, options: Any) -> None:
        self.info = ModelInfo(weights=1 << 20, streams=2, description={"architecture": "double"})
        self.fail = options.get("fail")
        self.step_s = options.get("step_ms", 0) / 1000
        self.computed = 0  # steps

    def units(self, request: Request) -> int:
        """Denoise steps of all images."""
        body = request.body
        return int(body.get("n", 1) * body.get("steps", STEPS)) if request.op == "image_generate" else 1

    def image_generate(self, request: Request) -> Iterator[str | Part]:
        """Paints the images one after the other."""
        body = request.body
        seed = body.get("seed", -1)
        seed = random.randrange(1 << 32) if seed < 0 else seed
        told = []
        for index in range(body.get("n", 1)):
            pixels = self._picture(body, seed + index)
            info = {
                "index": index, "seed": seed + index, "width": pixels.shape[1], "height": pixels.shape[0],
                "format": body.get("output_format", "png"),
            }  # fmt: skip
            for step in range(body.get("steps", STEPS)):
                if request.cancelled():
                    return
                self._compute()
                if 0 < step <= body.get("partial_images", 0):
                    dim = encoded(pixels // 2, body)
                    yield Part(data=dim, info={**info, "partial": True, "partial_image_index": step - 1})
                else:
                    yield Part()
            one = {"seed": seed + index, "revised_prompt": body["prompt"]}
            if body.get("response_format") == "data":
                yield Part(data=encoded(pixels, body), info=info, units=0)
            else:
                one["b64_json"] = base64.b64encode(encoded(pixels, body)).decode()
            told.append(one)
        return {"created": int(time.time()), "data": told}

    def image_matte(self, request: Request) -> Iterator[str | Part]:
        """Makes pixels of the background's colour transparent."""
        body = request.body
        pixels = decoded("image", body["image"])
        self._compute()
        alpha = foreground(pixels)[:, :, None]
        made = alpha if body.get("mask_only") else np.concatenate([pixels[:, :, :3], alpha], axis=2)
        data, size = encoded(made, body), {"width": made.shape[1], "height": made.shape[0]}
        if body.get("response_format") == "data":
            yield Part(data=data, info={"index": 0, "format": body.get("output_format", "png"), **size})
            return {"created": int(time.time()), "data": [{}]}
        yield Part()
        return {"created": int(time.time()), "data": [{"b64_json": base64.b64encode(data).decode()}]}

    def _compute(self) -> None:
        self.computed += 1
        time.sleep(self.step_s)
        if self.fail:
            raise RuntimeError(self.fail)

    def _picture(self, body: Any, seed: int) -> Any:
        start = decoded("image", body["image"])[:, :, :3] if "image" in body else None
        if start is not None:
            width, height = start.shape[1], start.shape[0]
        elif body.get("size", "auto") == "auto":
            width, height = SIZE
        else:
            width, height = map(int, body["size"].split("x"))
        if max(width, height) > MAX_SIDE:
            raise sotto.ArgumentError(f"invalid size '{width}x{height}': expected at most {MAX_SIDE} a side")
        made = noise(seed, body["prompt"], width, height)
        if start is None:
            return made
        strength = body.get("strength", 0.75)
        made = np.round(start + strength * (made.astype(float) - start)).astype(np.uint8)
        if "mask" in body:
            mask = decoded("mask", body["mask"])
            kept = mask[:, :, 3] > 0 if mask.shape[2] == 4 else ~mask.any(axis=2)
            made = np.where(kept[:, :, None], start, made)
        return made


class Easel(Backend):
    """Opens painters, from nothing."""

    name = "easel"

    def __init__(self) -> None:
        self.models: list[Painter] = []

    def open(self, source: Source) -> Model:
        """Opens one."""
        if source.path == "missing":
            raise FileNotFoundError("no such model: missing")
        self.models.append(Painter(source.options))
        return self.models[-1]


def picture() -> Any:
    """A red square with a white border on a green ground, 24 x 16."""
    pixels = np.full((16, 24, 3), (0, 160, 0), np.uint8)
    pixels[4:12, 8:16] = 255
    pixels[5:11, 9:15] = (200, 30, 30)
    return pixels
