"""The `sotto` command, run as users run it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ENVIRONMENT
from sotto.commands import suggest

Sotto = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def sotto() -> Sotto:
    """Runs the command; returns what came of it."""

    return run


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sotto.cli", *words],
        capture_output=True, text=True, timeout=120, check=False, env={**ENVIRONMENT, **variables},
    )  # fmt: skip


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
    ],
)
def test_bad_words_are_named(sotto: Sotto, words: tuple[str, ...], named: str) -> None:
    done = sotto(*words)
    assert done.returncode == 2 and named in done.stderr


def test_without_a_command_the_help_is_printed(sotto: Sotto) -> None:
    done = sotto()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == sotto("--help").stdout and "sotto demo" in done.stderr


@pytest.mark.parametrize(
    ("model", "suggested"),
    [
        ("house", "sotto/house"),
        ("sotto/hous", "sotto/house"),
        ("Sotto/House", "sotto/house"),
        ("sotto-house", "sotto/house"),
        ("house.gguf", "sotto/house"),
        ("tinylama", "ggml/TinyLlama"),
        ("ggml/tinyllama", "ggml/TinyLlama"),
        ("sotto/house", None),
        ("home", None),
        ("/nowhere/model.gguf", None),
        ("", None),
    ],
)
def test_the_closest_known_model_is_suggested(model: str, suggested: str | None) -> None:
    assert suggest.closest(model, ["sotto/house", "ggml/TinyLlama"]) == suggested


@pytest.mark.parametrize(
    "words",
    [
        ("chat", "house", "--prompt", "x"),
        ("chat", "sotto/hous", "--prompt", "x"),
        ("demo", "--headless", "--model", "sotto/hous"),
        ("plan", "house"),
    ],
)
def test_a_mistyped_model_is_answered_with_the_closest(words: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*words, HF_HUB_OFFLINE="1", HF_HUB_CACHE=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("; did you mean 'sotto/house'?")


@pytest.mark.parametrize(("typed", "hint"), [("chatt", "; did you mean 'chat'?"), ("xyz", ")")])
def test_a_mistyped_command_is_answered_with_the_closest(typed: str, hint: str) -> None:
    done = run(typed)
    assert done.returncode == 2 and f"invalid choice: '{typed}'" in done.stderr
    assert done.stderr.endswith(f"{hint}\n")


def test_a_model_of_the_cache_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "models--ggml--tiny-llama").mkdir()
    done = run("chat", "ggml/tiny-lama", "--prompt", "x", HF_HUB_OFFLINE="1", HF_HUB_CACHE=str(tmp_path))
    assert done.returncode == 1 and done.stderr.endswith("; did you mean 'ggml/tiny-llama'?\n")


def test_a_model_that_is_not_there_is_one_line_on_stderr(sotto: Sotto) -> None:
    done = sotto("demo", "--seconds", "1", "--headless", "--model", "/nowhere/model.gguf")
    assert done.returncode == 1
    assert "/nowhere/model.gguf" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
