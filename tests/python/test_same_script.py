"""Tests of `tests/faces/same_script.py`, which compares another library's results with ours."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import tomllib

from conftest import ROOT

sys.path.append(str(ROOT / "tests" / "faces"))

import run_script
import same_script

HOUSE = str(ROOT / "samples" / "house_model" / "house.gguf")
FACES = ROOT / "tests" / "faces"
SCRIPTS = sorted((FACES / "llama").glob("*.py"))
RUNNER = sorted((FACES / "runner").glob("*.py"))


def test_differences_name_their_paths() -> None:
    theirs = {"a": [1, {"b": "x"}], "c": 1.0, "only": None, "d": [1]}
    ours = {"a": [1, {"b": "y"}], "c": 1.001, "d": [1, 2], "e": True}
    found = {path: (one, other) for path, one, other in same_script.differences(theirs, ours)}
    assert found == {"a.1.b": ("x", "y"), "d": ([1], [1, 2]), "e": (None, True)}
    assert list(same_script.differences(1, True)) == [("", 1, True)]
    assert list(same_script.differences(1.0, 1.5)) == [("", 1.0, 1.5)]


def test_only_what_is_excused_may_differ() -> None:
    results = {
        "equal": ({"id": 1, "text": "a"}, {"id": 2, "text": "a"}),
        "excused": ({"house": {"model": 1}}, {"house": {"model": 2}}),
        "other": ({"house": {"model": 1, "text": "a"}}, {"house": {"model": 2, "text": "b"}}),
    }
    excuses = {"every": {"*.model": "a name"}, "equal": {"text": "not needed"}, "absent": {"x": "not run"}}
    told = same_script.compared(results, excuses)
    assert (told["scripts"], told["equal"], told["excused"]) == (3, 1, 1)
    assert told["different"] == {"other": {"house.text": ["a", "b"]}}
    assert told["unneeded"] == ["equal: text"]


def test_elements_are_counted_and_too_few_are_told() -> None:
    found = same_script.counted({"greedy": [1, 2, 3], "text": ["a"]}, {"greedy": [1, 2, 4], "text": ["a"]})
    assert found == {"greedy_equal": 2, "greedy_of": 3, "text_equal": 1, "text_of": 1}
    assert same_script.few(found) == ["greedy: 2 of 3 are equal, expected 98%"]
    with pytest.raises(ValueError, match="shorter"):
        same_script.counted({"greedy": [1, 2]}, {"greedy": [1]})


def test_only_imports_are_replaced() -> None:
    kept = 'x = "import lib"\nimport library\nfrom lib.sub import B\n'
    found = run_script.replaced(f"import lib\nfrom lib import A\n{kept}", {"lib": "ours"})
    assert found == f"import ours as lib\nfrom ours import A\n{kept}"


def test_scripts_import_nothing_of_ours_and_excuses_name_scripts() -> None:
    assert len(SCRIPTS) >= 30 and len(RUNNER) >= 25
    for scripts, module in ((SCRIPTS, "llama_cpp"), (RUNNER, "mistralrs")):
        for script in scripts:
            text = script.read_text(encoding="utf-8")
            assert "sotto" not in text and f"\nfrom {module} import " in text, script.name
        excuses = tomllib.loads(scripts[0].parent.with_suffix(".toml").read_text(encoding="utf-8"))
        assert set(excuses) <= {"every", *(one.stem for one in scripts)}
        assert all(reason for reasons in excuses.values() for reason in reasons.values())


@pytest.mark.parametrize("name", ["call", "chat_stream", "detokenize", "overflow", "missing"])
@pytest.mark.real
def test_scripts_run_on_our_side(name: str) -> None:
    script = next(one for one in SCRIPTS if one.stem == name)
    first, second = (
        same_script.run(sys.executable, script, HOUSE, "llama_cpp=sotto.llama") for _ in range(2)
    )
    assert "error" not in first, first
    assert same_script.compared({name: (first, second)}, {})["equal"] == 1


@pytest.mark.parametrize("name", ["chat_stream", "completion", "models", "errors_requests"])
@pytest.mark.real
def test_scripts_of_mistralrs_run_on_our_side(name: str) -> None:
    script = next(one for one in RUNNER if one.stem == name)
    first, second = (
        same_script.run(sys.executable, script, HOUSE, "mistralrs=sotto.runner") for _ in range(2)
    )
    assert "error" not in first, first
    assert same_script.compared({name: (first, second)}, {})["equal"] == 1


def test_errors_of_scripts_are_results(tmp_path: Path) -> None:
    script = tmp_path / "wrong.py"
    script.write_text("import json\nprint('noise')\nresult = json.loads('{')\n")
    found = same_script.run(sys.executable, script, HOUSE, "llama_cpp=sotto.llama")
    assert found["error"] == "JSONDecodeError"
    script.write_text("import os\nos._exit(3)\n")
    assert same_script.run(sys.executable, script, HOUSE, "a=b")["error"] == "exit status 3"
