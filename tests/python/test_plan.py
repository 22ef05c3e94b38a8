"""Plans: what a model would take, and how it would fit; and `sotto plan`, which prints one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import ENVIRONMENT
from fakehub import FakeHub
from ledger import HOUSE, MB, mb, states
from sotto.commands import plan as command
from talk import chat, content

RUNGS = ["as asked", "small kv", "fewer streams", "shorter streams", "unload idle"]
WAYS: list[dict[str, Any]] = [
    {},
    {"context": 512},
    {"context": 1024, "parallel": 8},
    {"kv_type": "q8_0"},
    {"kv_type": "f16", "parallel": 2},
    {"context": 1024, "min_context": 256},
]
Open = Callable[..., sotto.Engine]
Sotto = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.real
@pytest.mark.parametrize("options", WAYS, ids=json.dumps)
def test_a_plan_climbs_down_as_far_as_it_must(open_house: Open, options: dict[str, Any]) -> None:
    engine = open_house()
    whole = engine.plan_model(HOUSE, options=options)
    assert whole["rung"] == "as asked" and whole["fits"] and whole["free"] is None and whole["reason"] == ""
    (asked,) = whole["rungs"]
    assert whole["kv_per_token"] == asked["kv"] // (asked["streams"] * asked["context"])
    for part in (1.2, 0.9, 0.7, 0.5, 0.35, 0.2, 0.01):
        budget = mb(asked["bytes"] * part)
        plan = engine.plan_model(HOUSE, budget_mb=budget, options=options)
        rungs = plan["rungs"]
        assert plan["budget"] == budget * MB and rungs[0] == {**asked, "fits": asked["bytes"] <= budget * MB}
        names = [rung["rung"] for rung in rungs]
        assert names == sorted(set(names), key=RUNGS.index), names
        sizes = [rung["bytes"] for rung in rungs]
        assert sizes == sorted(set(sizes), reverse=True), sizes
        for rung in rungs:
            assert rung["bytes"] == rung["weights"] + rung["kv"] + rung["compute"]
            assert rung["fits"] == (rung["bytes"] <= budget * MB)
            for name, kept in (("context", "context"), ("parallel", "streams")):
                if name in options and f"min_{name}" not in options:
                    assert rung[kept] == options[name], rung
            assert rung["rung"] != "small kv" or "kv_type" not in options
            assert rung["context"] >= min(options.get("min_context", 512), asked["context"])
        assert not any(rung["fits"] for rung in rungs[:-1]), "it stops where it fits"
        assert plan["rung"] == (rungs[-1]["rung"] if plan["fits"] else None)
        assert plan["fits"] == rungs[-1]["fits"] == (plan["reason"] == "")
    assert engine.memory()["used"] == 0 and engine.memory()["models"] == [], "nothing was loaded"


@pytest.mark.real
@pytest.mark.parametrize("options", WAYS, ids=json.dumps)
def test_a_refusal_says_what_is_needed_what_there_is_and_what_helps(
    open_house: Open, options: dict[str, Any]
) -> None:
    engine = open_house(vram_budget_mb=1)
    plan = engine.plan_model(HOUSE, options=options)
    assert not plan["fits"] and plan["rung"] is None
    with pytest.raises(sotto.ModelLoadError) as caught:
        engine.load_model(HOUSE, options=options)
    assert caught.value.status == -4 and str(caught.value) == plan["reason"]
    found = re.match(
        r"sotto/house needs (\d+) MB.*; 0 MB of the budget of 1 MB are taken\. Raise vram_budget to (\d+) MB",
        plan["reason"],
    )
    assert found is not None, plan["reason"]
    assert int(found[1]) == mb(plan["rungs"][0]["bytes"])
    assert engine.memory()["peak"] <= MB
    engine.set_vram_budget_mb(int(found[2]) - 1)
    assert not engine.plan_model(HOUSE, options=options)["fits"]
    engine.set_vram_budget_mb(int(found[2]))
    engine.load_model(HOUSE, options=options)
    assert content(engine.llm_chat_completion(chat(model=HOUSE, max_tokens=4)))


@pytest.mark.real
@pytest.mark.parametrize("part", [1.1, 0.6, 0.4])
@pytest.mark.parametrize("options", WAYS, ids=json.dumps)
def test_what_is_loaded_is_what_was_planned(open_house: Open, options: dict[str, Any], part: float) -> None:
    engine = open_house()
    asked = engine.plan_model(HOUSE, options=options)["rungs"][0]
    plan = engine.plan_model(HOUSE, budget_mb=mb(asked["bytes"] * part), options=options)
    if not plan["fits"]:
        budget = mb(plan["rungs"][-1]["bytes"])  # as little as it can be
        plan = engine.plan_model(HOUSE, budget_mb=budget, options=options)
    rung = plan["rungs"][-1]
    assert plan["budget"] is not None
    engine.set_vram_budget_mb(plan["budget"] // MB)
    engine.load_model(HOUSE, options=options)
    engine.llm_chat_completion(chat("Tell me of the old mill by the river.", model=HOUSE, max_tokens=8))
    told = engine.memory()
    (house,) = told["models"]
    assert (house["streams"], house["kv"]) == (rung["streams"], rung["kv"])
    assert json.loads(engine.model_list())[0]["context"] == rung["context"]
    assert told["peak"] <= plan["budget"]
    assert abs(told["peak"] - rung["bytes"]) <= max(0.03 * rung["bytes"], 8 * MB)


def test_a_plan_takes_what_is_left_and_says_whom_it_would_send_to_sleep(open_engine: Open) -> None:
    engine = open_engine(vram_budget_mb=100)
    engine.load_model("idle", options={"weights": 70 * MB})
    plan = engine.plan_model("npc", options={"weights": 40 * MB})
    assert (plan["used"], plan["free"], plan["rung"]) == (70 * MB, 30 * MB, "unload idle")
    assert engine.plan_model("npc", options={"weights": 30 * MB})["rung"] == "as asked"
    assert states(engine.memory()) == {"idle": "ready"}


def test_planning_says_why_it_cannot(engine: sotto.Engine) -> None:
    with pytest.raises(sotto.ModelLoadError, match=r"file '/nowhere/x\.gguf' does not exist"):
        engine.plan_model("/nowhere/x.gguf")
    with pytest.raises(ValueError, match="invalid options: expected JSON"):
        engine.plan_model("npc", options="{")
    with pytest.raises(sotto.SottoError, match="abacus"):
        engine.plan_model("npc", options={}, backend="abacus")


def test_a_plan_downloads_nothing(
    engine: sotto.Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://198.51.100.1")  # nobody; and connecting there fails the test
    with pytest.raises(
        sotto.ModelLoadError, match="download it with `sotto models pull org/name:Q8_0`"
    ) as caught:
        engine.plan_model("org/name:Q8_0")
    assert caught.value.status == -7
    home = tmp_path / "models--org--name"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text("abc")
    (home / "snapshots" / "abc").mkdir(parents=True)
    (home / "snapshots" / "abc" / "name-Q8_0.gguf").write_text('{"weights": 1048576}')
    assert engine.plan_model("org/name:Q8_0")["rungs"][0]["weights"] == MB
    with pytest.raises(sotto.ModelLoadError, match="download it with `sotto models pull org/name:Q4_0`"):
        engine.plan_model("org/name:Q4_0")


# The command


@pytest.fixture
def plan(tmp_path: Path) -> Sotto:
    """Runs `sotto plan`; returns what came of it. Nothing is cached."""

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sotto.cli", "plan", *words],
            capture_output=True, text=True, timeout=120, check=False,
            env={**ENVIRONMENT, "HF_HOME": str(tmp_path), **variables},
        )  # fmt: skip

    return run


@pytest.mark.real
def test_the_command_prints_what_the_engine_says(plan: Sotto, open_house: Open) -> None:
    words = ("--budget", "30", "--context", "1024", "--parallel", "2", "--kv", "q8_0")
    done = plan("sotto/house", "--json", *words)
    options = {"context": 1024, "parallel": 2, "kv_type": "q8_0"}
    assert json.loads(done.stdout) == open_house().plan_model(HOUSE, budget_mb=30, options=options)
    again = plan("--json", "--budget", "30", "--options", json.dumps({**options, "parallel": 7}), *words[2:])
    assert json.loads(again.stdout) == json.loads(done.stdout), "what has an argument of its own goes before"


@pytest.mark.real
def test_the_table_marks_the_rung_that_is_taken(plan: Sotto, open_house: Open) -> None:
    (asked,) = open_house().plan_model(HOUSE)["rungs"]
    roomy, tight = plan("--budget", str(mb(asked["bytes"]))), plan("--budget", str(mb(asked["bytes"]) - 1))
    for done, taken in ((roomy, "as asked"), (tight, "small kv")):
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[0] == "sotto/house"
        assert {"weights", "a", "budget", "fits"} <= {line.split()[0] for line in lines if line.strip()}
        (head,) = (line for line in lines if "together" in line)
        assert head.split() == [name for name in command._COLUMNS if name]
        rows = [line for line in lines if line.split()[-1:] in (["yes"], ["no"])]
        assert [line.split()[-1] for line in rows] == ["no"] * (len(rows) - 1) + ["yes"]
        assert rows[-1].startswith(f">  {taken}") and not any(row.startswith(">") for row in rows[:-1])
    assert "available" not in roomy.stdout


@pytest.mark.real
def test_without_a_budget_it_is_what_the_machine_has(plan: Sotto) -> None:
    done = plan()
    assert done.returncode == 0 and "which this machine has available" in done.stdout
    told = json.loads(plan("--json").stdout)
    assert told["fits"] and 0 < told["budget"] < 1 << 50


@pytest.mark.real
def test_what_does_not_fit_says_what_it_would_fit_into(plan: Sotto) -> None:
    done = plan("--budget", "1", "--parallel", "2", "--context", "1024")
    assert done.returncode == 1 and done.stderr == ""
    assert "sotto/house needs" in done.stdout and not any(x.startswith(">") for x in done.stdout.splitlines())
    found = re.search(r"It fits with --budget (\d+)\.$", done.stdout.strip())
    assert found is not None, done.stdout
    words = ("--parallel", "2", "--context", "1024", "--json", "--budget")
    assert plan(*words, found[1]).returncode == 0
    assert plan(*words, str(int(found[1]) - 1)).returncode == 1


@pytest.mark.parametrize(
    ("words", "status", "named"),
    [
        (("--budget", "0"), 2, "--budget"),
        (("--budget", "-40"), 2, "--budget"),
        (("--budget", "1.5"), 2, "--budget"),
        (("--budget", "much"), 2, "--budget"),
        (("--budget", str(1 << 44)), 2, "--budget"),
        (("--kv", "q4_0"), 2, "--kv"),
        (("--context", "0"), 2, "--context"),
        (("--parallel", "nan"), 2, "--parallel"),
        (("--options", "{"), 2, "invalid --options: expected JSON"),
        (("--options", "[]"), 2, "invalid --options '[]': expected a JSON object"),
        (("/nowhere/model.gguf",), 1, "/nowhere/model.gguf"),
        (("a", "b"), 2, "b"),
    ],
)
def test_bad_words_are_named(plan: Sotto, words: tuple[str, ...], status: int, named: str) -> None:
    done = plan(*words)
    assert done.returncode == status and named in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--context", "2147483647"), "options.context '2147483647'"),
        (("--parallel", "65"), "options.parallel '65'"),
        (("--options", '{"contxt": 4}'), "contxt"),
    ],
)
def test_what_the_model_refuses_is_a_wrong_question(plan: Sotto, words: tuple[str, ...], named: str) -> None:
    done = plan(*words)
    assert done.returncode == 2 and named in done.stderr, done.stderr


def test_what_is_not_here_is_not_fetched(plan: Sotto) -> None:
    with FakeHub() as hub:
        hub.files["org/name"] = {"name-Q4_0.gguf": b"GGUF"}
        done = plan("org/name", HF_ENDPOINT=hub.endpoint, NO_PROXY="127.0.0.1")
        assert done.returncode == 1 and "download it with `sotto models pull org/name`" in done.stderr
        assert hub.gets() == []


def test_megabytes_are_never_fewer_than_there_are() -> None:
    assert [command.megabytes(count) for count in (0, 1, MB, MB + 1, 1234.56 * MB)] == [
        "0.0", "0.1", "1.0", "1.1", "1,234.6",
    ]  # fmt: skip
