"""An engine that generates images with tiny pipelines. tests/checks/images.py sets PYTHONPATH."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import sotto
from sotto.backends.diffusers import Diffusers


def pytest_configure(config: pytest.Config) -> None:
    """The libraries use what newer releases of NumPy, PyTorch and Python deprecate."""
    for kind in ("DeprecationWarning", "FutureWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::{kind}")


@pytest.fixture(scope="session")
def pixart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a tiny pipeline of PixArt Sigma, which tests leave as it is."""
    import tiny_pipelines

    return tiny_pipelines.pixart(tmp_path_factory.mktemp("pipelines") / "pixart")


@pytest.fixture(scope="session")
def stable_diffusion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a tiny pipeline of Stable Diffusion, likewise."""
    import tiny_pipelines

    return tiny_pipelines.stable_diffusion(tmp_path_factory.mktemp("pipelines") / "sd")


@pytest.fixture(scope="session")
def painter(pixart: Path, stable_diffusion: Path) -> Iterator[sotto.Engine]:
    """An engine with both pipelines as "pixart" and "sd", which tests leave as it is."""
    with sotto.Engine("cpu") as made:
        made.add_backend(Diffusers())
        made.load_model("pixart", path=pixart, backend="diffusers")
        made.load_model("sd", path=stable_diffusion, backend="diffusers")
        yield made


@pytest.fixture
def engine() -> Iterator[sotto.Engine]:
    """An engine with the backend."""
    with sotto.Engine("cpu") as made:
        made.add_backend(Diffusers())
        yield made


@pytest.fixture
def folder(pixart: Path, tmp_path: Path) -> Path:
    """A copy of the pipeline of PixArt Sigma, to damage."""
    return Path(shutil.copytree(pixart, tmp_path / "copy"))
