"""An engine that generates images with a tiny model on stable-diffusion.cpp."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "images"), str(TESTS / "data")]

from tiny_diffusion import Parts, tiny  # noqa: E402  # needs the path above

SIDE = 64  # pixels of an image's side, where a request does not say it

Load = Callable[..., None]


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """The files of a tiny model, which tests leave as they are."""
    return tiny(tmp_path_factory.mktemp("model"))


def load(engine: sotto.Engine, parts: Parts, name: str = "m", **options: Any) -> None:
    """Loads a model that takes images too, for images of SIDE x SIDE unless a request says otherwise."""
    own = {"threads": 1, "from_image": True, "size": f"{SIDE}x{SIDE}", "max_pixels": 160 * 160}
    engine.load_model(name, path=parts.diffusion, backend="diffusion", options=parts.options | own | options)


@pytest.fixture(scope="module")
def painter(parts: Parts) -> Iterator[sotto.Engine]:
    """An engine with the model "m", which tests leave as it is."""
    with sotto.Engine("cpu", mode="prioritize_compute") as made:
        load(made, parts)
        yield made


@pytest.fixture
def engine() -> Iterator[sotto.Engine]:
    """An engine without models."""
    with sotto.Engine("cpu", mode="prioritize_compute") as made:
        yield made
