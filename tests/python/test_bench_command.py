"""`sotto bench`: what it measures, and the report."""

from __future__ import annotations

import getpass
import json
import os
import platform
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import SCRIPTED
from sotto import cli
from sotto.commands.bench import command, pacing, report, speed

SHORT = command.Plan(runs=1, seconds=0.3, pacing_seconds=0.6, game_runs=1, game_seconds=0.5)
MODES = ["alone", "balance", "prioritize_graphics", "prioritize_compute"]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures for a moment only."""
    monkeypatch.setattr(command, "QUICK", SHORT)


@pytest.fixture
def talker(tmp_path: Path) -> list[str]:
    """Words that name a model of the scripted backend: 5 ms a token, 0.1 ms a token of a prompt."""
    path = tmp_path / "talker.json"
    script = {"tokens": [" on"], "loop": True, "token_ms": 5, "prompt_token_ms": 0.1, "context": 600}
    path.write_text(json.dumps(script))
    return [str(path), "--module-dir", str(SCRIPTED)]


def check_report(found: dict[str, Any]) -> None:
    """Every part is there and in its range."""
    assert {"format", "date", "sotto", "machine", "model", "prefill", "decode", "pacing", "frames"} <= set(
        found
    )
    assert found["machine"]["cores"] >= 1 and found["machine"]["memory_bytes"] > 1 << 28
    assert found["sotto"]["version"] == sotto.__version__
    for row in (*found["prefill"], *found["decode"]):
        assert row["tps"] > 0 and len(row["runs"]) == 1
    assert (
        [row["streams"] for row in found["decode"]] == [row["streams"] for row in found["pacing"]] == [1, 4]
    )
    assert [row["game"] for row in found["frames"]] == MODES
    for row in found["frames"]:
        times = row["frame_ms"]
        assert row["frames"] > 0 and times["p50"] <= times["p95"] <= times["p99"]


@pytest.mark.usefixtures("short")
def test_a_report_is_written_once_as_json_and_once_for_people(
    talker: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *talker, "--quick", "--report", str(tmp_path / "new" / "folder")]) == 0
    said = capsys.readouterr()
    as_json, as_text = sorted((tmp_path / "new" / "folder").iterdir())
    assert (as_json.suffix, as_text.suffix) == (".json", ".md")
    assert as_text.read_text() == said.out and str(as_json) in said.err
    found = json.loads(as_json.read_text())
    check_report(found)
    assert [row["prompt_tokens"] for row in found["prefill"]] == pytest.approx([32, 128, 512], abs=2)
    for row in found["prefill"]:
        expected = row["prompt_tokens"] / (0.1 * row["prompt_tokens"] + 5) * 1000  # with the first token
        assert 0.1 * expected < row["tps"] < 1.1 * expected
    assert 10 < found["decode"][0]["tps"] <= 201
    for row in (*found["prefill"], *found["decode"]):
        assert f"{row['tps']:,.0f}" in said.out or f"{row['tps']:,.1f}" in said.out


@pytest.mark.usefixtures("short")
def test_a_report_says_nothing_of_whose_it_is(
    talker: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *talker, "--quick", "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert said.err == "" and found["model"]["id"] == "talker.json"
    texts = said.out + report.markdown(found)
    for personal in (
        str(tmp_path),
        str(Path.home()) + "/",
        platform.node(),
        f"/{getpass.getuser()}/",
        os.getcwd(),
    ):
        assert personal not in texts


@pytest.mark.real
@pytest.mark.usefixtures("short")
def test_the_house_model_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--quick", "--json", "--threads", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    check_report(found)
    assert found["model"]["id"] == "sotto/house" and found["model"]["architecture"] == "llama"
    assert found["sotto"]["backend"] == "llama" and found["sotto"]["tier"]


def test_markdown_is_a_table_an_issue_can_show() -> None:
    rows = [("a", "b"), ("1", "long cell")]
    assert report._table(rows) == ["| a | b         |", "|---|-----------|", "| 1 | long cell |"]


def test_a_pace_is_kept(npc: sotto.Engine) -> None:
    npc.load_model("talker", options={"tokens": [" on"], "loop": True})
    row = pacing.measure(npc, "talker", 4, 1.5)
    assert row["gaps"] > 60 and row["tps"] == pytest.approx(20, rel=0.1)
    assert row["gap_error_ms"]["mean"] < 15
    assert not list(npc.events()) and not npc.wait(0.1)  # nobody speaks on


def test_a_model_that_says_nothing_has_no_pace(npc: sotto.Engine) -> None:
    npc.load_model("mute", options={"tokens": [], "token_ms": 20})
    row = pacing.measure(npc, "mute", 1, 0.2)
    assert row["gaps"] == 0 and row["gap_error_ms"] == {"mean": None, "p95": None}
    assert "too slow to tell" in report._paced(row)


def test_short_answers_are_added_up(npc: sotto.Engine) -> None:
    npc.load_model("brief", options={"tokens": ["a", "b", "c"], "token_ms": 2})
    row = speed.decode_one(npc, "brief", 1, lambda done: None)
    assert 20 < row["tps"] <= 510


@pytest.mark.parametrize(
    ("words", "status", "named"),
    [
        (["/nowhere.gguf"], 1, "file '/nowhere.gguf' does not exist"),
        (["--options", "7"], 2, "--options"),
        (["--report", "/proc/nothing/here"], 2, "--report /proc/nothing/here"),
    ],
)
def test_bad_words_are_named(
    words: list[str], status: int, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *words]) == status
    assert named in capsys.readouterr().err


def test_a_model_that_fails_is_told(talker: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(talker[0]).write_text(json.dumps({"tokens": ["a", "b"], "fail_at": 1}))
    assert cli.main(["bench", *talker, "--quick"]) == 1
    assert "the script fails" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("sotto/house", "sotto/house"),
        ("org/name:Q4_0", "org/name:Q4_0"),
        ("/home/somebody/models/a.gguf", "a.gguf"),
        ("~/models/a.gguf", "a.gguf"),
        ("../a.gguf", "a.gguf"),
    ],
)
def test_a_path_is_only_a_name_to_others(model: str, name: str) -> None:
    assert report.public_name(model) == name
