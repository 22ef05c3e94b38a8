"""`log`: the level, at start and at run time."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import sotto
from conftest import ENVIRONMENT

LOADS = """
import os, sotto
{before}
with sotto.Engine(module_dir=os.environ["SOTTO_TEST_SCRIPTED"]) as engine:
    {after}
    engine.load_model("npc", options={{}})
"""


def _said(before: str = "", after: str = "pass", **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LOADS.format(before=before, after=after)],
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


@pytest.fixture(autouse=True)
def _quiet_again() -> object:
    yield
    sotto.set_log_level("warn")


@pytest.mark.row("A-001", "A-002", "A-004")
@pytest.mark.parametrize("level", ["error", "warn", "info", "debug", "trace"])
def test_each_level_is_taken(level: str) -> None:
    assert sotto.set_log_level(level) is None
    assert sotto.set_log_level(level=level) is None
    assert list(inspect.signature(sotto.set_log_level).parameters) == ["level"]


@pytest.mark.row("A-002")
@pytest.mark.parametrize("level", ["", "loud", "INFO", "warning"])
def test_other_levels_are_refused(level: str) -> None:
    with pytest.raises(ValueError, match=r'invalid level ..*.: expected one of "error", "warn"') as caught:
        sotto.set_log_level(level)
    assert repr(level) in str(caught.value)


@pytest.mark.parametrize("level", [3, None, b"info"])
def test_a_level_is_a_str(level: object) -> None:
    with pytest.raises(TypeError, match="invalid level "):
        sotto.set_log_level(level)  # type: ignore[arg-type]


@pytest.mark.row("A-003")
def test_the_level_works_at_run_time() -> None:
    """The reference documents a no-op; decided: it works."""
    assert "uses" not in _said()
    assert "sotto: info: uses" in _said(after="sotto.set_log_level('debug')")
    assert "uses" not in _said(after="sotto.set_log_level('error')", SOTTO_LOG="debug")


@pytest.mark.row("A-005")
@pytest.mark.parametrize("variable", ["RUST_LOG", "SOTTO_LOG"])
def test_the_environment_is_read_at_start(variable: str) -> None:
    assert "uses" not in _said(**{variable: "error"})
    assert "uses" in _said(**{variable: "debug"})


@pytest.mark.row("A-005")
def test_the_environment_counts_until_the_first_engine() -> None:
    setting = "os.environ['RUST_LOG'] = 'debug'"
    assert "uses" in _said(before=setting)
    assert "uses" not in _said(after=setting)
    assert "uses" not in _said(before=f"{setting}; sotto.set_log_level('error')")
