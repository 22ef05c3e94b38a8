"""The package as a whole: what it exports, that it is typed, and what importing it costs."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

import pytest

import sotto
from conftest import ENVIRONMENT, PACKAGE


def test_what_is_exported_is_there() -> None:
    for name in sotto.__all__:
        assert getattr(sotto, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sotto.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def _seconds(code: str) -> float:
    """The processor time that running `code` takes, at best."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def once() -> float:
        before = spent()
        subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True)
        return spent() - before

    return min(once() for _ in range(7))


def test_importing_takes_a_moment() -> None:
    bare = _seconds("pass")
    assert _seconds("import sotto") - bare < 2 * (_seconds("import asyncio") - bare)


def test_importing_brings_nothing_heavy() -> None:
    code = "import sotto, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True)
    heavy = {"asyncio", "huggingface_hub", "rich", "cffi", "json", "inspect", "dataclasses", "subprocess"}
    assert not heavy & set(done.stdout.split())


def test_a_frames_calls_are_cheap(npc: sotto.Engine) -> None:
    times = []
    for _ in range(300):
        began = time.perf_counter()
        npc.frame_begin(busy_cores=1, period=1 / 60)
        list(npc.events())
        npc.frame_end()
        times.append(time.perf_counter() - began)
    assert statistics.median(times) < 0.0003
