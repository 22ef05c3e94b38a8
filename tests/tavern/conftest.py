"""The sample's modules, a display of their own, and runs of the whole window.

SOTTO_LIBRARY names the native library, PYTHONPATH the package and pygame-ce: see tests/checks/tavern.py.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = str(ROOT / "python")
sys.path[:0] = [str(ROOT / "samples" / "tavern"), str(Path(__file__).parent), PACKAGE]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (PACKAGE, os.environ.get("PYTHONPATH"))))
os.environ.setdefault("SOTTO_LIBRARY", str(ROOT / "build" / "check" / "release" / "out" / "libsotto.so"))
os.environ["SDL_FRAMEBUFFER_ACCELERATION"] = "0"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
os.environ["SDL_VIDEODRIVER"] = "dummy"  # of this process; the windows of `window.py` open on Xvfb

import pygame  # noqa: E402
import window  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def fonts() -> Iterator[None]:
    """pygame, started as the sample starts it."""
    pygame.display.init()
    pygame.font.init()
    pygame.display.set_mode((1280, 720))
    yield
    pygame.quit()


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    """The name of an X display."""
    with window.xvfb() as name:
        yield name


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the figures that tests recorded as the property `figure`."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "figure":
                terminalreporter.write_line(f"tavern: {value}")
