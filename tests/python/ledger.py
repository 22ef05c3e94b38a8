"""What tests of the memory budget ask of an engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import sotto

HOUSE = "sotto/house"
MB = 1 << 20


def mb(bytes_: float) -> int:
    """In megabytes, rounded up."""
    return math.ceil(bytes_ / MB)


def until(engine: sotto.Engine, are: Callable[[sotto.Memory], bool]) -> sotto.Memory:
    """What is told of memory, once it is so."""
    end = time.monotonic() + 30
    while not are(told := engine.memory()):
        assert time.monotonic() < end, told
        time.sleep(0.005)
    return told


def states(told: sotto.Memory) -> dict[str, str]:
    """What each model is doing."""
    return {model["id"]: model["state"] for model in told["models"]}
