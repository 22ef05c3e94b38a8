"""What opens files that nobody vouches for: a process with limits, which ends with whoever started it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sotto
from conftest import ENVIRONMENT
from sotto._lib import library_folder
from sotto.commands import confined
from sotto.commands.confined import Limits

HOUSE = library_folder() / "house.gguf"
LINUX = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not say what it takes"
)
ROOMY = Limits(60, 2 << 30)


def run(monkeypatch: pytest.MonkeyPatch, body: str, limits: Limits = ROOMY) -> confined.Outcome:
    """Has a process do something else."""
    monkeypatch.setattr(confined, "_command", lambda _: [sys.executable, "-c", body])
    return confined.call("check", {"path": "model.gguf"}, limits)


def test_the_arguments_reach_the_process_and_the_result_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    said = '{"verdict": "sound", "why": "", "result": json.loads(sys.stdin.readline()), "error": ["", 0, ""]}'
    outcome = run(monkeypatch, f"import json, sys; print(json.dumps({said}))")
    assert (outcome.verdict, outcome.result) == ("sound", {"path": "model.gguf"})


def test_fractions_of_the_process_are_reported_and_what_libraries_print_is_no_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "slow_work.py").write_text(
        "import time; from sotto.commands import confined\n"
        "def run():\n"
        "    for done in (0.25, 0.75):\n"
        "        print('a library prints'); confined.advance(done); time.sleep(0.3)\n"
        "    return {'done': 'all'}\n"
    )
    body = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from sotto.commands import confined\n"
        "confined.CALLS['check'] = 'slow_work'; confined.serve('check')"
    )
    monkeypatch.setattr(confined, "_command", lambda _: [sys.executable, "-c", body])
    told: list[float] = []
    outcome = confined.call("check", {}, ROOMY, told.append)
    assert (outcome.verdict, outcome.result, told) == ("sound", {"done": "all"}, [0.25, 0.75])


@pytest.mark.real
def test_no_module_comes_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sotto", "json", "cffi", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    assert confined.call("check", {"path": str(HOUSE)}, ROOMY).verdict == "sound"
    assert not (tmp_path / "run").exists()


def test_a_process_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic()
    outcome = run(monkeypatch, "while True: pass", Limits(0.5, 0))
    assert outcome.verdict == "timeout" and time.monotonic() - begun < 30


@LINUX
def test_a_process_that_takes_too_much_memory_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "import time; held = []\nwhile True: held.append(bytearray(1 << 22)); time.sleep(0.001)"
    outcome = run(monkeypatch, body, Limits(120, 300 << 20))
    assert (outcome.verdict, outcome.why) == ("memory", "the file takes more than 300 MB; raise --memory")


@LINUX
def test_the_process_ends_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    child = (
        "import os, pathlib, sys, threading; from sotto.commands import confined\n"
        "threading.Thread(target=confined._end_with_parent, daemon=True).start()\n"
        f"pathlib.Path({str(told)!r}).write_text(str(os.getpid()))\n"
        "while True: pass"
    )
    parent = (
        "import sys; from sotto.commands import confined\n"
        f"command = [sys.executable, '-c', 'import sys; sys.stdin.readline()\\n' + {child!r}]\n"
        "confined._command = lambda _: command\n"
        "confined.call('check', {}, confined.Limits(600, 0))"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], env=ENVIRONMENT)
    try:
        until = time.monotonic() + 60
        while not (told.exists() and told.read_text()) and time.monotonic() < until:
            time.sleep(0.02)
        pid = int(told.read_text())
    finally:
        process.kill()
        process.wait()
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.real
@pytest.mark.parametrize("words", [("models", "check"), ("models", "info"), ("plan",)])
def test_each_command_that_opens_a_file_has_limits(tmp_path: Path, words: tuple[str, ...]) -> None:
    def sotto_(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sotto.cli", *words, *more]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, env=ENVIRONMENT
        )

    assert sotto_(str(HOUSE)).returncode == 0
    small = sotto_(str(HOUSE), "--memory", "1")
    assert (
        small.returncode == 1
        and "the file takes more than 1 MB; raise --memory" in small.stdout + small.stderr
    )
    assert "--timeout" in sotto_(str(HOUSE), "--timeout", "0").stderr
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert sotto_(str(fifo)).returncode != 0  # and does not wait for a writer


@pytest.mark.real
def test_what_the_engine_refuses_is_raised_as_the_engine_raises_it(tmp_path: Path) -> None:
    arguments = {"model": str(HOUSE), "budget_mb": 0, "options": {"parallel": 65}, "engine": {}}
    with pytest.raises(sotto.ArgumentError, match=r"invalid options.parallel '65'"):
        confined.value("plan", arguments, ROOMY, str(HOUSE))
    (tmp_path / "broken.gguf").write_bytes(b"no model at all, whatever it is called")
    outcome = confined.call("check", {"path": str(tmp_path / "broken.gguf")}, ROOMY)
    assert (outcome.verdict, outcome.why) == ("refused", "the file is not a GGUF file")
    assert json.loads(json.dumps(outcome.error))[0] == "SottoError"


def test_limits_grow_with_the_file(tmp_path: Path) -> None:
    large = tmp_path / "large.gguf"
    with large.open("wb") as file:
        file.truncate(10 << 30)
    limits = Limits.of(large)
    assert limits.seconds > 2 * 60 and limits.bytes == (2 << 30) + 2 * (10 << 30)
    assert Limits.of(tmp_path / "none") == Limits(30.0, 2 << 30)
    assert Limits.of(large, 5.0).seconds == 5.0
