"""`sotto demo`, run as users run it."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import sotto
from conftest import BUILD, ENVIRONMENT, ROOT
from sotto.cli import main
from sotto.demo import command, rules
from sotto.demo.scene import Scene
from sotto.demo.view import Headless
from talk import load_endless

Demo = Callable[..., subprocess.CompletedProcess[str]]
Open = Callable[..., sotto.Engine]
FAST = ("--mode", "prioritize_compute")  # a busy machine would let idle threads wait, and the test with them


@pytest.fixture
def demo() -> Demo:
    """Runs the command; returns what came of it."""

    def run(*words: str, input: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sotto.cli", "demo", *words],
            capture_output=True, text=True, timeout=120, check=False, env={**ENVIRONMENT, **variables},
            **({"stdin": subprocess.DEVNULL} if input is None else {"input": input}),
        )  # fmt: skip

    return run


@pytest.mark.real
def test_frames_and_lines_are_reported(demo: Demo) -> None:
    report = json.loads(demo("--seconds", "2", "--characters", "2", "--headless", "--json", *FAST).stdout)
    assert set(report) == {
        "frames", "missed", "missed_pct", "frame_ms", "baseline", "memory", "speech", "characters",
        "tokens_total", "tps_total", "model", "device", "sotto_version", "other_cpu_pct",
    }  # fmt: skip
    assert report["other_cpu_pct"] is None or 0 <= report["other_cpu_pct"] <= 100
    assert set(report["frame_ms"]) == {"p50", "p95", "p99", "p999", "max"}
    assert set(report["baseline"]) == {"missed_pct", "frame_ms"}
    assert 1 <= report["frames"] <= 121
    assert len(report["characters"]) == 2
    for character in report["characters"]:
        assert set(character) == {"name", "lines", "tokens", "tps", "ttft_ms"}
    lines = [line for character in report["characters"] for line in character["lines"]]
    assert report["speech"] == {
        "lines": len(lines),
        "in_character": sum(line["in_character"] for line in lines),
        "asked_for_facts": len(lines),
        "with_facts": sum(line["uses_facts"] for line in lines),
    }
    assert report["tokens_total"] == sum(character["tokens"] for character in report["characters"])


@pytest.mark.real
def test_a_budget_holds_and_is_reported(demo: Demo, open_house: Open) -> None:
    half = half_of_four(open_house())
    done = demo("--seconds", "1", "--json", "--vram-budget", str(half), *FAST)
    assert done.returncode == 0, done.stderr
    memory = json.loads(done.stdout)["memory"]
    assert set(memory) == {"budget", "peak", "used", "evicted", "parked"}
    assert memory["budget"] == half << 20 and 0 < sum(memory["used"].values()) <= memory["peak"] <= half << 20
    assert memory["used"]["weights"] > 0 and memory["used"]["kv"] > 0 and memory["evicted"] == 0


@pytest.mark.real
def test_half_the_memory_is_enough_for_four(open_house: Open) -> None:
    engine = open_house(vram_budget_mb=half_of_four(open_house()))
    arguments = argparse.Namespace(model="sotto/house", characters=4, vram_budget=1)
    engine.load_model("sotto/house", options=command._options(engine, arguments))
    scene = Scene(engine, "sotto/house", 4)
    spoken(scene, 2)
    lines = [line for one in scene.characters for line in one.report()["lines"]]
    strange = [line for line in lines if not line["in_character"]]
    assert len(lines) >= 8 and len(strange) <= 1, strange  # rounding hangs on who speaks together


@pytest.mark.real
@pytest.mark.parametrize(("megabytes", "streams"), [(200, 8), (90, 8), (82, 7), (34, 1)])
def test_as_many_speak_as_have_room_to_remember(megabytes: int, streams: int, open_house: Open) -> None:
    engine = open_house(vram_budget_mb=megabytes)
    arguments = argparse.Namespace(model="sotto/house", characters=12, vram_budget=megabytes)
    asked = command._options(engine, arguments)
    assert asked == {"parallel": streams}
    assert engine.plan_model("sotto/house", options=asked)["rungs"][-1]["context"] >= 1024


def half_of_four(engine: sotto.Engine) -> int:
    """Half of the megabytes that the house model takes with four streams."""
    (asked,) = engine.plan_model("sotto/house", options={"parallel": 4})["rungs"]
    return asked["bytes"] // 2 >> 20


@pytest.mark.real
def test_the_summary_tells_the_memory(demo: Demo) -> None:
    done = demo("--seconds", "1", "--characters", "1", "--headless", "--vram-budget", "1000", *FAST)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("memory: at most "))
    assert " of 1,000.0 MB; at the end weights " in line


@pytest.mark.real
@pytest.mark.parametrize(("others", "said"), [(0.0, False), (9.9, False), (10.0, True), (None, False)])
def test_a_busy_machine_is_said_at_the_end(
    others: float | None, said: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command.OtherLoad, "percent", lambda self: others)
    assert main(["demo", "--seconds", "0.5", "--characters", "1", "--headless", *FAST]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("the machine was busy: other processes used 10 %") == said


@pytest.mark.real
def test_too_small_a_budget_is_one_line_on_stderr(demo: Demo) -> None:
    done = demo("--seconds", "1", "--headless", "--vram-budget", "1")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("sotto: sotto/house needs") and "of the budget of 1 MB" in last


def spoken(scene: Scene, lines: int) -> None:
    """Runs a scene until each of its characters has said so many lines."""
    end = time.monotonic() + 60
    while min(len(character.lines) for character in scene.characters) < lines:
        assert time.monotonic() < end
        scene.begin_frame()
        time.sleep(0.001)
    scene.hush()


@pytest.mark.real
def test_each_line_says_whether_it_keeps_the_rules(real_engine: sotto.Engine) -> None:
    scene = Scene(real_engine, "sotto/house", 4)
    spoken(scene, 2)
    for character in scene.characters:
        report = character.report()
        assert [line["question"] for line in report["lines"][:2]] == character.persona.questions[:2]
        for line in report["lines"]:
            assert set(line) == {
                "character", "question", "answer", "tokens", "facts", "missing", "uses_facts", "faults",
                "in_character",
            }  # fmt: skip
            assert line["facts"] and set(line["missing"]) <= set(line["facts"])
            assert line["uses_facts"] == (not line["missing"])
            assert line["in_character"] == (not line["faults"])
            assert 0 < line["tokens"] <= rules.MAX_TOKENS
            for fact in set(line["facts"]) - set(line["missing"]):
                assert fact.casefold() in line["answer"].casefold()
        assert report["tokens"] >= sum(line["tokens"] for line in report["lines"])


def test_plain_lines_are_readable(npc: sotto.Engine, capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene(npc, "npc", 5)
    spoken(scene, 1)
    Headless(quiet=True).flush(scene)
    assert capsys.readouterr().out == ""
    spoken(scene, 2)
    Headless(quiet=False).flush(scene)
    said = capsys.readouterr().out.splitlines()
    asked = scene.characters[4].persona.questions[1]
    assert f'Pip, asked "{asked}":  {asked}' in said


def test_half_a_line_is_no_line(engine: sotto.Engine) -> None:
    load_endless(engine)
    scene = Scene(engine, "endless", 1)
    while not scene.characters[0].speaking:
        scene.begin_frame()
    scene.hush()
    report = scene.characters[0].report()
    assert report["lines"] == [] and report["tokens"] > 0 and scene.characters[0].speaking is None


@pytest.mark.real
def test_the_pace_is_the_one_asked_for(demo: Demo) -> None:
    done = demo("--talk", "--target-tps", "10", "--json", *FAST, input="Brenna, what news?\n")
    brenna = json.loads(done.stdout)["characters"][0]
    assert 0 < brenna["tps"] <= 12 and len(brenna["lines"]) == 1


@pytest.mark.real
def test_a_run_is_drawn(demo: Demo, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "run.png"
    done = demo("--seconds", "1", "--characters", "1", "--headless", "--plot", str(path), *FAST)
    assert done.returncode == 0, done.stderr
    assert path.read_bytes().startswith(b"\x89PNG") and str(path) in done.stdout


@pytest.mark.real
def test_a_run_is_traced(demo: Demo, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    done = demo("--seconds", "3", "--characters", "8", "--json", "--trace", str(path), *FAST)
    assert done.returncode == 0, done.stderr
    report, trace = json.loads(done.stdout), json.loads(path.read_text())
    lasting = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    frames = [event for event in lasting if event["name"] == "frame"]
    assert report["frames"] - 2 <= len(frames) <= report["frames"]
    assert all(event["dur"] > 1000 for event in frames)
    names = {event["name"] for event in lasting}
    assert "open" in names and names & {"prompt", "decode"}  # on a busy machine no token in three seconds
    told = [event["args"]["generated_tokens"] for event in lasting if event["name"] in ("prompt", "decode")]
    assert sum(told) >= report["tokens_total"] - 8 * rules.MAX_TOKENS


@pytest.mark.real
def test_what_a_run_decided_comes_out_the_same(demo: Demo, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    done = demo("--seconds", "3", "--characters", "8", "--json", "--record", str(path), *FAST)
    assert done.returncode == 0, done.stderr
    replayed = sotto.replay(path)
    assert replayed.same == replayed.decisions > 0  # hundreds, where nobody else computes
    assert replayed.streams >= 8 and replayed.models == 1


@pytest.mark.real
def test_eight_different_characters_say_what_their_sheets_hold(real_engine: sotto.Engine) -> None:
    scene = Scene(real_engine, "sotto/house", 8)
    spoken(scene, 1)
    lines = [line for one in scene.characters for line in one.report()["lines"]]
    assert len({one.persona.name for one in scene.characters}) == 8
    odd = [line for line in lines if not line["uses_facts"] or not line["in_character"]]
    assert len(odd) <= 1, odd  # rounding hangs on who speaks together


@pytest.mark.parametrize("name", [".", "nowhere/run.json"])
def test_a_trace_that_could_not_be_written_is_refused_at_once(demo: Demo, tmp_path: Path, name: str) -> None:
    done = demo("--headless", "--trace", str(tmp_path / name))
    assert done.returncode == 2 and "loading" not in done.stderr
    assert done.stderr.startswith("sotto: --trace") and "cannot be written" in done.stderr


@pytest.mark.parametrize("name", ["run.bmp", "run", "nowhere/run.png"])
def test_a_picture_that_could_not_be_written_is_refused_at_once(
    demo: Demo, tmp_path: Path, name: str
) -> None:
    done = demo("--headless", "--plot", str(tmp_path / name))
    assert done.returncode == 2 and "--plot" in done.stderr and "loading" not in done.stderr


def test_a_plot_without_matplotlib_says_how_to_get_it(demo: Demo, tmp_path: Path) -> None:
    hide = "import sys\nsys.modules['matplotlib'] = None\nfrom sotto.cli import main\nsys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", hide, "demo", "--plot", str(tmp_path / "run.png")],
        capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1 and done.stderr.startswith("sotto: --plot needs matplotlib")
    assert "sotto-runtime[plot]" in done.stderr and len(done.stderr.splitlines()) == 1


def sample(name: str, *words: str) -> list[str]:
    """What a sample prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "samples" / "python" / name), *words],
        capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.real
def test_the_sample_of_priorities(tmp_path: Path) -> None:
    lines = sample("priorities.py", str(tmp_path / "trace.json"))
    answers = {line[len("You to ") :]: then for line, then in pairwise(lines) if line.startswith("You to ")}
    assert len(answers) == 8 and "flooded" in answers["Garrick: What happened to the forge?"]
    assert "millpond" in answers["Silvane: Where is the green key?"]
    assert {line.split(":")[0] for line in lines if ": first word after " in line} == {"player", "gossip"}
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"frame", "open", "prompt"} <= {event["name"] for event in events}


@pytest.mark.real
def test_the_sample_of_sessions() -> None:
    lines = sample("sessions.py")
    told = [line for line in lines if line.endswith(" new]")]
    remembered = [int(line.split("[")[1].split()[0]) for line in told]
    assert len(told) == 4 and remembered[0] == 0 and all(count > 30 for count in remembered[1:]), lines
    assert sum(line.startswith("    Brenna: ") for line in lines) == 4
    assert lines[-1] == "Brenna remembers 7 messages; 1 session is open"


@pytest.mark.real
def test_the_sample_of_a_budget() -> None:
    lines = sample("budget.py")
    assert sum(line.startswith("    ") and len(line.split(":")[1]) > 8 for line in lines) == 4
    assert lines[0].endswith("4 of 4 places") and not lines[-1].endswith("4 of 4 places")
    for line in (lines[0], lines[-1]):
        used, budget = line.split(": ")[1].split(" MB")[0].split(" of ")
        assert 0 < float(used) <= float(budget)


@pytest.mark.real
def test_the_sample_of_adapters() -> None:
    lines = sample("adapters.py")
    said = dict(line.strip().split(": ", 1) for line in lines if line.startswith("    "))
    assert list(said) == ["Brenna", "Molly", "Tess"]
    assert all("4 copper" in line for line in said.values()), said
    pirate = re.compile(r"(?i)\b(arr|aye|matey|savvy|ye|nay)\b")
    assert pirate.search(said["Molly"]) and not pirate.search(said["Brenna"]), said
    assert int(re.findall(r"\d+", lines[-2])[0]) >= 2, "they spoke one after the other"
    before, after, adapter = map(float, re.findall(r"([\d.]+) MB", lines[-1]))
    assert before == after > 10 * adapter > 0


@pytest.mark.real
def test_the_sample_is_the_same_scene() -> None:
    lines = sample("tavern.py")
    for name in ("Brenna", "Garrick", "Silvane", "Pip"):
        assert sum(line.startswith(f"Ilse to {name}: ") for line in lines) == 3
        assert all(len(line) > len(f"    {name}: ") for line in lines if line.startswith(f"    {name}: "))


@pytest.mark.real
def test_the_sample_of_a_chat() -> None:
    assert "9 copper" in sample("chat.py")[0]
    (said,) = sample("chat.py", "Two ales, please.")
    assert len(said) < 120


@pytest.mark.real
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="no C compiler")
def test_the_sample_in_c_runs_as_its_first_lines_say(tmp_path: Path) -> None:
    text = (ROOT / "samples" / "c" / "frame_loop.c").read_text()
    lines = re.findall(r"^ \*     (.*)$", text.split("*/")[0], re.M)
    assert [line.split()[0].split("=")[0] for line in lines] == ["OUT", "cc", "build/frame_loop"]
    script = "\n".join([f"OUT='{BUILD}'", *lines[1:]]).replace(
        "build/frame_loop", str(tmp_path / "frame_loop")
    )
    done = subprocess.run(
        ["sh", "-e", "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    said = {name: "".join(re.findall(rf"\] {name}: (.*)\n", done.stdout)) for name in ("Mara", "Tobin")}
    assert "3 copper" in said["Mara"] and "Tobin Ashdown" in said["Tobin"], said


def test_every_sample_has_a_sheet_and_a_limit_in_each_request() -> None:
    samples = [*(ROOT / "samples" / "python").glob("*.py"), *(ROOT / "samples" / "c").glob("*.c*")]
    assert len(samples) >= 9
    for path in samples:
        text = path.read_text()
        if path.stem == "backend" or "sotto/house" not in text:  # a script, or no model that speaks
            continue
        for field in ("max_tokens", "temperature"):
            assert re.search(rf'{field}(\\?": |=)\d', text), f"{path.name} has no {field}"
        assert ("Name: " in text and "Role: " in text) or "= Sheet(" in text, f"{path.name} has no sheet"
