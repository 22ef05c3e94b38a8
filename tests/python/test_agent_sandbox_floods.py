"""Code in a sandbox takes all it can get, or breaks the sandbox from inside, and is ended within limits."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sotto
from agent_script import options, says
from conftest import ROOT
from sandboxes import HERE, LINUX, SHORT, open_sandbox
from sotto.agent import PythonSandbox, SandboxError, SandboxLimits

pytestmark = [pytest.mark.row("E-096"), pytest.mark.skipif(not LINUX, reason="sandboxes need Linux")]
AFTER = 1.0  # seconds after its limit in which a process is gone


def codes(group: str) -> dict[str, tuple[str, str]]:
    """Returns what is expected of the codes of a group, and the codes, by name."""
    text = (ROOT / "tests" / "data" / "sandbox_floods.txt").read_text(encoding="utf-8")
    sections = re.split(r"^== (.+)\n", text, flags=re.M)[1:]
    found = {}
    for head, code in zip(sections[::2], sections[1::2], strict=True):
        kind, name, *expected = head.split(": ")
        if kind == group:
            found[name] = (*expected, code.strip("\n")) if expected else ("", code.strip("\n"))
    return found


# The limit that ends the process; "time": that of time or of the processor's, "any": what is noticed first.
FLOODS = codes("flood")
# The kernel, or Python, stops the code at a limit: the error. The process lives, with its variables.
BOUNDED = {**codes("bounded"), "nul": ("Error", "a = '\0'")}
# The code breaks the program around it. Whatever its results are, other sessions and the next one work.
SABOTAGE = codes("sabotage")


@pytest.fixture(scope="module", params=HERE)
def sandbox(request: pytest.FixtureRequest) -> Iterator[PythonSandbox]:
    with open_sandbox(request.param, SHORT) as made:
        yield made


def assert_gone(pid: int) -> None:
    """The process is reaped, or its id belongs to another already."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return
    assert state[1] != str(os.getpid())


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_is_ended_within_its_limit(sandbox: PythonSandbox, name: str) -> None:
    ending, code = FLOODS[name]
    sandbox.run("kept = 1", "other")
    try:
        run_flood(sandbox, ending, code)
    except BaseException:
        sandbox.end_session("floods")
        raise
    assert sandbox.run("kept", "other").output == "1\n"


def run_flood(sandbox: PythonSandbox, ending: str, code: str) -> None:
    assert sandbox.run("'kept' in globals()", "floods").output == "False\n"  # the process is a new one
    sandbox.run("kept = 1", "floods")
    pid = sandbox._sessions["floods"].pid
    if ending == "any":
        for _ in range(2):
            try:
                sandbox.run(code, "floods")
            except SandboxError as error:
                assert error.seconds < SHORT.time_limit + AFTER
        sandbox.end_session("floods")
    else:
        with pytest.raises(SandboxError, match="the variables and files of this session are gone") as raised:
            sandbox.run(code, "floods")
        expected = ("time_limit", "cpu_time") if ending == "time" else (ending,)
        assert raised.value.ending in expected, raised.value
        assert raised.value.seconds < SHORT.time_limit + AFTER
    assert_gone(pid)


@pytest.mark.parametrize("name", BOUNDED)
def test_code_gets_an_error_at_a_limit(sandbox: PythonSandbox, name: str) -> None:
    error, code = BOUNDED[name]
    sandbox.run("x, kept = 0, 5", "bounded")
    try:
        result = sandbox.run(code, "bounded")
    except SandboxError as raised:  # a limit of the whole process was noticed first
        assert raised.ending in ("threads", "disk_mb", "cpu_time", "time_limit", "exited"), raised
        assert raised.seconds < SHORT.time_limit + AFTER
        return
    assert not result.ok and error in result.output, result.output
    if name in ("thread bomb", "pipes"):
        sandbox.end_session("bounded")
    else:
        assert sandbox.run("x = 0; kept", "bounded").output == "5\n"


@pytest.mark.parametrize("sandbox", HERE[:1], indirect=True)
@pytest.mark.parametrize("name", SABOTAGE)
def test_code_breaks_its_own_session_alone(sandbox: PythonSandbox, name: str) -> None:
    sandbox.run("kept = 1", "other")
    assert sandbox.run("6 * 7", "sabotage").output == "42\n"
    for code in (SABOTAGE[name][1], "1", "print(2)"):
        try:
            result = sandbox.run(code, "sabotage")
            assert len(result.output) < 2 * SHORT.output
        except SandboxError as error:
            assert error.seconds < SHORT.time_limit + AFTER
    sandbox.end_session("sabotage")
    assert sandbox.run("kept", "other").output == "1\n"


def test_threads_that_go_on_stand_still_between_calls(sandbox: PythonSandbox) -> None:
    code = (
        "import threading, time\nn = 0\ndef f():\n global n\n while True: n += 1\n"
        "threading.Thread(target=f, daemon=True).start()\ntime.sleep(0.05)"
    )
    sandbox.run(code, "goes-on")
    pid = sandbox._sessions["goes-on"].pid
    time.sleep(0.05)
    before = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    time.sleep(0.2)
    after = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert before[0] == after[0] == "T" and before[11:13] == after[11:13]
    assert int(sandbox.run("n", "goes-on").output) > 0
    sandbox.end_session("goes-on")


def test_a_stream_of_an_engine_goes_on_beside_floods(engine: sotto.Engine) -> None:
    """Four sessions take all they get, one after another, while a model speaks."""
    engine.load_model("npc", options=options({"hi": [says("x")]}, tokens=["a "] * 60_000, token_ms=2))
    limits = SandboxLimits(time_limit=60, cpu_time=0.5, memory_mb=192, threads=4, files=64, disk_mb=8)
    heard = 0
    endings: list[tuple[str, int]] = []  # with the number of tokens until then

    def flood() -> None:
        with open_sandbox(HERE[0], limits) as sandbox:
            for name in ("endless loop", "endless output", "many files", "full disk"):
                with pytest.raises(SandboxError) as raised:
                    sandbox.run(FLOODS[name][1], name)
                endings.append((raised.value.ending, heard))

    body = {"model": "npc", "messages": [{"role": "user", "content": "speak"}], "max_tokens": 60_000}
    stream = engine.llm_chat_completion_stream(body)
    next(stream)
    thread = threading.Thread(target=flood)
    thread.start()
    for _ in stream:
        heard += 1
        if not thread.is_alive():
            break
    stream.close()
    thread.join()
    assert [one for one, _ in endings] == ["cpu_time", "output", "files", "disk_mb"]
    counts = [count for _, count in endings]
    assert 0 < counts[0] < counts[1] < counts[2] < counts[3]
