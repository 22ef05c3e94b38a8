"""Finds the native build, and the CUDA driver: this machine's, or the double of it.

SOTTO_TEST_LIBRARY names the folder a native build put its libraries in (`.../out`). SOTTO_TEST_CUDA=real
takes this machine's driver, the CUDA module and the house model; else the double and the scripted backend
play them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SOTTO_TEST_LIBRARY") or ROOT / "build" / "check" / "release" / "out")
REAL = os.environ.get("SOTTO_TEST_CUDA") == "real"
DOUBLE = BUILD / "cuda_whole" / "libcuda.so.1"

sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).parent)]
os.environ["SOTTO_LIBRARY"] = str(BUILD / "libsotto.so")

from machine_card import DRIVER, Driver, Nvml  # noqa: E402  # needs the path above

import sotto  # noqa: E402  # needs the variables above


@dataclass
class Card:
    """The driver, and what runs on it here."""

    driver: Driver
    nvml: Nvml | None
    module_dir: Path
    model: str
    options: dict[str, object]
    context: int = 0  # of the host's

    def engine(self, device: str = "auto") -> sotto.Engine:
        """One with the model."""
        engine = sotto.Engine(device, mode="prioritize_compute", module_dir=self.module_dir)
        engine.load_model(self.model, options=self.options)
        return engine


@pytest.fixture(scope="session")
def driver() -> Driver:
    """The CUDA driver. What opens it by its name finds the same."""
    if REAL:
        return Driver(DRIVER)
    double = Driver(str(DOUBLE))
    double.library.sotto_double_set(b"reset", ctypes.c_long(1))
    double.call("cuInit", 0)
    return double


@pytest.fixture
def card(driver: Driver) -> Iterator[Card]:
    """The first card, with a context of the host's."""
    made = driver.context()
    if REAL:
        yield Card(driver, Nvml(driver.uuid()), BUILD, "sotto/house", {}, made)
    else:
        yield Card(driver, None, BUILD / "scripted_on_card", "npc", {}, made)
    assert driver.current() == 0
    driver.destroy(made)
