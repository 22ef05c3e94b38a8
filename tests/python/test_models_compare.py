"""`sotto models compare`: the same file, quantized ones, and models that cannot be compared."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sotto
from conftest import ENVIRONMENT
from sotto._lib import library_folder
from sotto.commands.models.compare import divergence
from tiny_wide import wide

HOUSE = library_folder() / "house.gguf"


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs `sotto models compare`."""
    words = [sys.executable, "-m", "sotto.cli", "models", "compare", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env=ENVIRONMENT, check=False)


@pytest.mark.real
def test_a_model_agrees_with_itself(tmp_path: Path) -> None:
    (tmp_path / "sheet.txt").write_text("Name: Mara\nRole: innkeeper\nPlace: the Otter")
    (tmp_path / "lines.txt").write_text("Who are you?\n\nWhere is this?\n")
    said = ("--prompts", tmp_path / "lines.txt", "--system", tmp_path / "sheet.txt", "--tokens", 6)
    done = command(HOUSE, HOUSE, *said, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["positions"] == 12
    assert told["top1"] == 1.0
    assert 0 <= told["kl"] < 0.01
    assert told["reference"]["bytes"] == HOUSE.stat().st_size
    assert min(told["reference"]["tokens_per_s"], told["other"]["tokens_per_s"]) > 0


@pytest.mark.real
def test_fewer_bits_differ_more(tmp_path: Path) -> None:
    source = tmp_path / "f32.gguf"
    wide(1).write(source)
    found = {}
    with sotto.Engine("cpu", threads=1) as engine:
        for kind in ("Q8_0", "Q2_K"):
            engine.quantize(source, tmp_path / f"{kind}.gguf", type=kind)
    for kind in ("Q8_0", "Q2_K"):
        done = command(source, tmp_path / f"{kind}.gguf", "--tokens", 4, "--json")
        assert done.returncode == 0, done.stderr
        found[kind] = json.loads(done.stdout)
    assert found["Q8_0"]["kl"] < found["Q2_K"]["kl"]
    assert found["Q8_0"]["top1"] >= found["Q2_K"]["top1"]


@pytest.mark.real
def test_what_cannot_be_compared(tmp_path: Path) -> None:
    source = tmp_path / "f32.gguf"
    wide(1).write(source)
    (tmp_path / "empty.txt").write_text("\n")
    for arguments, what in (
        ((HOUSE, source), "the models have different vocabularies"),
        ((HOUSE, HOUSE, "--prompts", tmp_path / "empty.txt"), "expected a file with a line or more"),
        ((HOUSE, HOUSE, "--system", tmp_path / "none.txt"), "cannot read"),
        ((HOUSE, tmp_path / "none.gguf"), "none.gguf"),
    ):
        done = command(*arguments)
        assert done.returncode != 0
        assert what in done.stderr
        assert "Traceback" not in done.stderr


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=2, max_size=6), st.integers(1, 6))
def test_the_divergence_is_a_lower_bound(weights: list[tuple[float, float]], shown: int) -> None:
    totals = [sum(pair[side] for pair in weights) for side in (0, 1)]
    both = [
        {token: math.log(pair[side] / totals[side]) for token, pair in enumerate(weights)} for side in (0, 1)
    ]
    exact = sum(math.exp(p) * (p - both[1][token]) for token, p in both[0].items())
    first = [dict(sorted(one.items(), key=lambda each: -each[1])[:shown]) for one in both]
    assert -1e-9 <= divergence(first[0], first[1]) <= exact + 1e-6
    assert divergence(both[0], both[1]) == pytest.approx(exact, abs=1e-6)
