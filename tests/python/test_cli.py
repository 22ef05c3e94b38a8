"""The `sotto` command, run as users run it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

Sotto = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def sotto() -> Sotto:
    """Runs the command; returns what came of it."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sotto.cli", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    return run


def test_the_doctor_names_the_processor_and_the_backend(sotto: Sotto) -> None:
    report = json.loads(sotto("doctor", "--json").stdout)
    assert report["processor"]["cores"] >= 1
    assert "llama" in [backend["name"] for backend in report["backends"]]
    assert report["house_model"]["bytes"] > 0
    said = sotto("doctor").stdout
    assert "llama" in said and "granted to an engine without a budget" in said


def test_the_doctor_tells_the_memory_of_each_device(sotto: Sotto) -> None:
    report = json.loads(sotto("doctor", "--json").stdout)
    (cpu,) = report["devices"]
    assert cpu["name"] == "cpu" and set(cpu["memory"]) == {"total", "available", "granted"}
    assert 0 < cpu["memory"]["granted"] <= cpu["memory"]["available"] <= cpu["memory"]["total"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("demo", "--seconds", "0"), "--seconds"),
        (("demo", "--seconds", "nan"), "--seconds"),
        (("demo", "--characters", "0"), "--characters"),
        (("demo", "--characters", "many"), "--characters"),
        (("demo", "--target-tps", "-1"), "--target-tps"),
        (("demo", "--mode", "fast"), "--mode"),
        (("demo", "--vram-budget", "-1"), "--vram-budget"),
        (("demo", "--vram-budget", "half"), "--vram-budget"),
        (("dance",), "dance"),
        ((), "command"),
    ],
)
def test_bad_words_are_named(sotto: Sotto, words: tuple[str, ...], named: str) -> None:
    done = sotto(*words)
    assert done.returncode == 2 and named in done.stderr


def test_a_model_that_is_not_there_is_one_line_on_stderr(sotto: Sotto) -> None:
    done = sotto("demo", "--seconds", "1", "--headless", "--model", "/nowhere/model.gguf")
    assert done.returncode == 1
    assert "/nowhere/model.gguf" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
