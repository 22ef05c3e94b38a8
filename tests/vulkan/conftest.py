"""Finds the native build to test, and lends engines on a Vulkan device whose allocations are counted.

SOTTO_TEST_LIBRARY names the folder a native build with SOTTO_VULKAN put its libraries in (`.../out`).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SOTTO_TEST_LIBRARY") or ROOT / "build" / "check" / "release" / "out")
LAYER = BUILD.parent / "vulkan"
DEVICE = os.environ.get("SOTTO_TEST_VULKAN", "vulkan0")
HOUSE = "sotto/house"

TESTS = ROOT / "tests"
sys.path[:0] = [str(ROOT / "python"), *(str(TESTS / name) for name in ("bench", "gpu", "images", "data"))]
sys.path.append(str(TESTS / "diffusion"))  # last: it has a conftest of its own
os.environ["PYTHONPATH"] = str(ROOT / "python")  # for the tests' own subprocesses
os.environ["SOTTO_LIBRARY"] = str(BUILD / "libsotto.so")
if not list(BUILD.glob("sotto_llama_vulkan-*")):
    pytest.exit(f"no Vulkan module in {BUILD}; set SOTTO_TEST_LIBRARY to the out of a build with it", 2)
ENVIRONMENT = dict(os.environ)  # of a test's subprocess: without the layer
os.environ.update(VK_LAYER_PATH=str(LAYER), VK_INSTANCE_LAYERS="VK_LAYER_SOTTO_count")

import sotto  # noqa: E402  # needs the variables above


class Counted:
    """What was allocated of Vulkan's memory, in bytes, as the layer counts it."""

    def __init__(self) -> None:
        self._layer = ctypes.CDLL(str(LAYER / "sotto_vulkan_count.so"))
        for name in ("bytes", "peak", "allocations"):
            getattr(self._layer, f"sotto_count_{name}").restype = ctypes.c_uint64

    def bytes(self) -> int:
        """Now."""
        return int(self._layer.sotto_count_bytes())

    def peak(self) -> int:
        """The most since this was last asked."""
        return int(self._layer.sotto_count_peak())


@pytest.fixture(scope="session")
def counted() -> Counted:
    """The layer."""
    return Counted()


@pytest.fixture
def engine() -> Iterator[sotto.Engine]:
    """An engine on the device, without a model."""
    with sotto.Engine(DEVICE, mode="prioritize_compute") as engine:
        yield engine


@pytest.fixture(scope="module")
def house() -> Iterator[sotto.Engine]:
    """An engine on the device, with the house model."""
    with sotto.Engine(DEVICE, mode="prioritize_compute") as engine:
        engine.load_model(HOUSE)
        yield engine
