"""Generated images whose background `sotto/matting` removes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sotto
from conftest import encoded, matte
from image_double import Easel, noise

SIZE = (64, 48)


def pixels(file: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(file))
    image.load()
    return image


@pytest.fixture
def studio(engine: sotto.Engine) -> sotto.Engine:
    """An engine with a painter, another model that removes backgrounds, and sotto/matting."""
    engine.add_backend(Easel())
    for name in ("painter", "other"):
        engine.load_model(name, path="-", backend="easel")
    engine.load_model("sotto/matting")
    return engine


@pytest.mark.parametrize("kind", ["png", "webp"])
def test_the_default_model_removes_the_background(studio: sotto.Engine, kind: str) -> None:
    made = studio.generate_images(
        "a fox", model="painter", seed=3, size=SIZE, background="transparent", output_format=kind
    )
    painted = Image.fromarray(noise(3, "a fox", *SIZE))
    cut = matte(studio, encoded(painted), "sotto/matting")
    image = pixels(made.images[0].data)
    assert (image.format, image.mode, image.size) == (kind.upper(), "RGBA", SIZE)
    assert (np.asarray(image) == np.asarray(cut)).all()


def test_webp_may_be_compressed(studio: sotto.Engine) -> None:
    sizes = [
        len(
            studio.generate_images(
                "a fox", model="painter", seed=3, background="transparent", output_format="webp",
                output_compression=quality,
            ).images[0].data
        )
        for quality in (10, 100)
    ]  # fmt: skip
    assert sizes[0] < sizes[1]


def test_the_command_removes_the_background(engine: sotto.Engine, tmp_path: Path) -> None:
    model = ["--model", "-", "--backend", "image_double:Easel", "--seed", "3", "--size", "64x48"]
    words = ["image", "generate", "a fox", *model, "--background", "transparent", "-o", "fox.png"]
    command = [sys.executable, "-m", "sotto.cli", *words]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    engine.load_model("sotto/matting")
    cut = matte(engine, encoded(Image.fromarray(noise(3, "a fox", *SIZE))), "sotto/matting")
    assert (np.asarray(pixels((tmp_path / "fox.png").read_bytes())) == np.asarray(cut)).all()
