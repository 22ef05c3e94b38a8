"""An engine that removes backgrounds on ONNX Runtime. tests/checks/matting.py sets PYTHONPATH."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import sotto

Load = Callable[..., str]


def encoded(image: Image.Image, kind: str = "PNG", **settings: Any) -> str:
    """An image file in base64."""
    file = io.BytesIO()
    image.save(file, kind, **settings)
    return base64.b64encode(file.getvalue()).decode()


def decoded(text: str) -> Image.Image:
    """The image of a file in base64."""
    image = Image.open(io.BytesIO(base64.b64decode(text)))
    image.load()
    return image


def ask(engine: sotto.Engine, image: str, model: str = "m", **fields: Any) -> list[sotto.Event]:
    """The events of a request that removes a background, until it is done."""
    request = engine.submit("image_matte", {"model": model, "image": image, **fields})
    return rest(engine, request)


def rest(engine: sotto.Engine, request: int) -> list[sotto.Event]:
    """The events of a request, until it is done."""
    found: list[sotto.Event] = []
    while not found or found[-1].kind != "request_done":
        assert engine.wait(60)
        found += [event for event in engine.events() if event.request == request]
    return found


def matte(engine: sotto.Engine, image: str, model: str = "m", **fields: Any) -> Image.Image:
    """The image without its background."""
    done = ask(engine, image, model, **fields)[-1]
    assert done.status == 0, done.error
    return decoded(json.loads(done.json)["data"][0]["b64_json"])


def picture(width: int, height: int, seed: int = 0) -> Image.Image:
    """Blotches of colour with some grain."""
    random = np.random.default_rng(seed)
    coarse = random.integers(0, 256, (height // 16 + 2, width // 16 + 2, 3), dtype=np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))
    grain = random.integers(-12, 13, smooth.shape)
    return Image.fromarray(np.clip(smooth + grain, 0, 255).astype(np.uint8))


@pytest.fixture
def engine() -> Iterator[sotto.Engine]:
    """An engine at normal priority, so that a busy machine does not let it wait."""
    with sotto.Engine("cpu", mode="prioritize_compute") as made:
        yield made


@pytest.fixture
def load(engine: sotto.Engine, tmp_path: Path) -> Load:
    """Loads a model file, under the name "m" or another."""

    def load_(path: Path, name: str = "m", **options: Any) -> str:
        engine.load_model(name, path=path, backend="onnx", options={"threads": 2, **options})
        return name

    return load_
