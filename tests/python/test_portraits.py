"""The sample of portraits: each is painted once, and kept in the save game."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import ENVIRONMENT, ROOT
from image_double import Easel, noise, pixels_in

SAMPLES = ROOT / "samples" / "python"


@pytest.fixture
def portraits(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(SAMPLES)
    import portraits

    return portraits


def test_a_portrait_of_each_character_is_painted_once(portraits: Any, tmp_path: Path) -> None:
    easel = Easel()
    with sotto.Engine("cpu", mode="prioritize_compute") as engine:
        engine.add_backend(easel)
        engine.load_model("double", path="-", backend="easel")
        first = list(portraits.portraits(engine, "double", tmp_path / "portraits"))
        steps = easel.models[0].computed
        assert steps > 0 and [(name, painted) for name, _, painted in first] == [
            ("Brenna", True), ("Garrick", True), ("Silvane", True), ("Pip", True),
        ]  # fmt: skip
        for number, (name, path, _) in enumerate(first):
            prompt = f"portrait of {portraits.CAST[name]}, {portraits.STYLE}"
            assert (pixels_in(path.read_bytes()) == noise(100 + number, prompt, *portraits.SIZE)).all()
        again = list(portraits.portraits(engine, "double", tmp_path / "portraits"))
        assert again == [(name, path, False) for name, path, _ in first]
        assert easel.models[0].computed == steps
        first[0][1].unlink()
        assert [one[2] for one in portraits.portraits(engine, "double", tmp_path / "portraits")] == [
            True, False, False, False,
        ]  # fmt: skip


def test_a_save_game_brings_the_portraits_back(
    portraits: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[dict[str, bytes]] = []
    for evening in range(3):
        easel, saves = Easel(), tmp_path / ("home" if evening == 0 else "other machine")
        with sotto.Engine("cpu", mode="prioritize_compute") as engine:
            engine.add_backend(easel)
            engine.load_model("double", path="-", backend="easel")
            portraits.evening(engine, "double", saves)
        kept.append({path.name: path.read_bytes() for path in (saves / "portraits").iterdir()})
        assert (easel.models[0].computed > 0) == (evening != 1)
        if evening == 0:
            (tmp_path / "other machine").mkdir()
            shutil.copy(saves / "slot1.sotto", tmp_path / "other machine")
        elif evening == 1:  # the next patch changes the style
            monkeypatch.setattr(portraits, "STYLE", "ink")
    assert len(kept[0]) == 4 and kept[0] == kept[1]
    assert len(kept[2]) == 8


def test_the_sample_names_what_it_needs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SAMPLES / "portraits.py"), "--saves", str(tmp_path)],
        capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2 and "--model" in done.stderr and list(tmp_path.iterdir()) == []
