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
    assert [backend["name"] for backend in report["backends"]] == ["llama"]
    assert report["house_model"]["bytes"] > 0
    assert "llama" in sotto("doctor").stdout


@pytest.mark.real
def test_the_demo_reports_frames_and_lines(sotto: Sotto) -> None:
    done = sotto("demo", "--seconds", "4", "--characters", "2", "--headless", "--json")
    report = json.loads(done.stdout)
    assert set(report) == {
        "frames", "missed", "missed_pct", "frame_ms", "baseline", "characters",
        "tokens_total", "tps_total", "model", "device", "sotto_version",
    }  # fmt: skip
    assert set(report["frame_ms"]) == {"p50", "p95", "p99", "p999", "max"}
    assert set(report["baseline"]) == {"missed_pct", "frame_ms"}
    assert 60 <= report["frames"] <= 241
    assert len(report["characters"]) == 2
    for character in report["characters"]:
        assert set(character) == {"name", "lines", "tokens", "tps", "ttft_ms"}
        assert character["lines"] and all(line["answer"] for line in character["lines"])
    assert report["tokens_total"] == sum(character["tokens"] for character in report["characters"])


@pytest.mark.real
def test_the_pace_is_the_one_asked_for(sotto: Sotto) -> None:
    done = sotto("demo", "--seconds", "5", "--characters", "1", "--target-tps", "10", "--headless", "--json")
    (character,) = json.loads(done.stdout)["characters"]
    assert character["tps"] == pytest.approx(10, rel=0.2)


@pytest.mark.real
def test_headless_lines_are_readable(sotto: Sotto) -> None:
    said = sotto("demo", "--seconds", "3", "--headless").stdout
    assert "asked" in said and "frames at 60 FPS" in said


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("demo", "--seconds", "0"), "--seconds"),
        (("demo", "--seconds", "nan"), "--seconds"),
        (("demo", "--characters", "0"), "--characters"),
        (("demo", "--characters", "many"), "--characters"),
        (("demo", "--target-tps", "-1"), "--target-tps"),
        (("demo", "--mode", "fast"), "--mode"),
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
