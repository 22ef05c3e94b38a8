"""Tests of `tests/server/llama_suite.py`, which runs llama.cpp's own server tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

sys.path.append(str(ROOT / "tests" / "server"))

import llama_models
import llama_suite
import llama_suite_front

FILES = {
    "presets": {"a/b": ["/m/b.gguf"], "a/b/c.gguf": ["/m/c.gguf"], "a/eyes:Q8_0": ["/m/e.gguf", "/m/p.gguf"]},
    "downloads": {"d.gguf": "/m/d.gguf"},
}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("--port 1 --hf-repo a/b --no-slots", "--port 1 --no-slots --model /m/b.gguf"),
        ("--hf-repo a/b --hf-file c.gguf", "--model /m/c.gguf"),
        ("--hf-repo a/eyes:Q8_0", "--model /m/e.gguf --mmproj /m/p.gguf"),
        ("--hf-repo a/eyes:Q8_0 --no-mmproj", "--no-mmproj --model /m/e.gguf"),
        ("--model-url http://x/d.gguf", "--model /m/d.gguf"),
        ("--mmproj-url http://x/d.gguf", "--mmproj /m/d.gguf"),
        ("--model a.gguf", "--model a.gguf"),
    ],
)
def test_repositories_become_files(given: str, wanted: str) -> None:
    assert " ".join(llama_suite_front.replaced(given.split(), FILES)) == wanted


@pytest.mark.parametrize("given", ["--hf-repo a/none", "--model-url http://x/none.gguf"])
def test_what_has_no_file_is_named(given: str) -> None:
    with pytest.raises(SystemExit, match="none"):
        llama_suite_front.replaced(given.split(), FILES)


def test_every_preset_and_download_has_a_file() -> None:
    made = {"house", "infill", "minilm", "ranker", "gemma3", "gemma3-projector", "adapter", "truck", "cat"}
    named = {one for ours in llama_models.PRESETS.values() for one in ours}
    assert named | set(llama_models.DOWNLOADS.values()) == made
    for seed in (3, 5):
        assert llama_models.picture(seed).startswith(b"\x89PNG")
    assert llama_models.picture(3) != llama_models.picture(5)


def test_outcomes_take_the_worst_phase(tmp_path: Path) -> None:
    lines = [("unit/a.py::t", "passed"), ("unit/a.py::t", "failed"), ("unit/a.py::u", "passed")]
    file = tmp_path / "outcomes"
    file.write_text("".join(json.dumps({"test": t, "outcome": o, "reason": "r"}) + "\n" for t, o in lines))
    assert llama_suite.read(file) == {"a.py::t": ("failed", "r"), "a.py::u": ("passed", "r")}


def test_the_report_counts_excused_tests_as_failed() -> None:
    good, bad = ("passed", ""), ("failed", "why")
    theirs: Any = {"t": good, "u": good, "v": good, "w": good, "x": bad}
    ours: Any = {"t": good, "u": bad, "v": bad, "w": good, "x": good}
    told = llama_suite.report(theirs, ours, {"cases": {"u": "a reason", "w": "needless"}})
    assert (told["theirs_passed"], told["ours_passed"], told["excused"], told["ratio"]) == (4, 2, 1, 0.5)
    assert told["excused_cases"] == {"u": "a reason"}
    assert told["failures"] == {"v": "why"}
    assert told["needless_excuses"] == ["w"]
    assert told["theirs_failed"] == {"x": "why"}
