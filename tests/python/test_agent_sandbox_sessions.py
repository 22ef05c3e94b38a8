"""`sotto.agent.PythonSandbox`: sessions, and the end of their processes, however the host ends."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import sotto
import sotto.aio
from agent_script import call, calls, play, says
from conftest import ENVIRONMENT
from sandboxes import HERE, LINUX, SLEEP, ask, gone, pid_of, without_process
from sotto.agent import (
    Permissions,
    PythonSandbox,
    SandboxError,
    SandboxLimits,
    aio,
)

pytestmark = [pytest.mark.row("E-096"), pytest.mark.skipif(not LINUX, reason="sandboxes need Linux")]


@pytest.fixture(scope="module")
def shared() -> Iterator[PythonSandbox]:
    with PythonSandbox() as made:
        yield made


@pytest.fixture
def sandbox(shared: PythonSandbox) -> Iterator[PythonSandbox]:
    yield from without_process(shared)


# Sessions


def test_the_session_that_is_idle_for_longest_makes_room() -> None:
    with PythonSandbox(max_sessions=2) as sandbox:
        for name in ("a", "b"):
            sandbox.run(f"x = '{name}'", name)
        first = pid_of(sandbox, "b")
        sandbox.run("x", "a")
        sandbox.run("x = 'c'", "c")
        assert gone(first) and sandbox.run("x", "a").output == "'a'\n"
        result = sandbox.run("1", "b")
        assert result.lost and result.text.endswith("earlier variables are gone]\n1")
        assert sandbox.run("1", "b").lost == ""


def test_sessions_that_run_are_not_ended_for_others() -> None:
    with PythonSandbox(SandboxLimits(time_limit=30), max_sessions=1) as sandbox:
        sandbox.run("1", "a")
        job = sandbox._submit(SLEEP, "a")
        while not job.future.running():
            time.sleep(0.01)
        with pytest.raises(SandboxError, match="raise max_sessions"):
            sandbox.run("1", "b")
        sandbox.end_session("a")
        with pytest.raises(SandboxError, match="cancelled"):
            job.future.result(10)
        assert sandbox.run("1", "b").ok


def test_calls_of_a_session_wait_for_each_other(sandbox: PythonSandbox) -> None:
    threads = [
        threading.Thread(target=sandbox.run, args=(f"x = [*globals().get('x', []), {n}]",)) for n in range(16)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(eval(sandbox.run("x").output)) == list(range(16))


def test_a_process_that_was_killed_from_outside_is_replaced(sandbox: PythonSandbox) -> None:
    sandbox.run("x = 1")
    pid = pid_of(sandbox)
    os.kill(pid, 9)
    assert gone(pid)
    result = sandbox.run("'x' in globals()")
    assert result.output == "False\n" and result.lost == "the Python process of this session has ended"


# The end


def test_closing_an_engine_ends_the_processes_of_its_sessions(
    engine: sotto.Engine, sandbox: PythonSandbox
) -> None:
    ask(engine, sandbox, "x = 1")
    sandbox.run("x = 2", "other")
    pid = pid_of(sandbox, "gate")
    engine.close()
    assert gone(pid) and sandbox.run("x", "other").output == "2\n"


def test_closing_an_asyncio_engine_ends_the_processes_of_its_sessions(sandbox: PythonSandbox) -> None:
    pids = []

    async def test(engine: sotto.aio.Engine) -> None:
        async with await engine.session("gate", model="npc") as session:
            await aio.Agent(session, [sandbox], permissions=Permissions(approve=lambda _: True)).say("hi")
        pids.append(pid_of(sandbox, "gate"))

    play({"hi": [calls(call("python", {"code": "1"})), says("Well.")]}, test)
    assert gone(pids[0])


def test_a_closed_sandbox_refuses_calls() -> None:
    sandbox = PythonSandbox()
    sandbox.run("1")
    pid, job = pid_of(sandbox), sandbox._submit(SLEEP, "other")
    waiting = sandbox._submit("1", "other")
    sandbox.close()
    sandbox.close()
    assert gone(pid, 0.1) and threading.active_count() < 50
    for one in (job, waiting):
        with pytest.raises((SandboxError, BaseException)):
            one.future.result(5)
    with pytest.raises(SandboxError, match="closed"):
        sandbox.run("1")
    sandbox.end_session("main")


def test_a_sandbox_that_is_dropped_ends_its_processes() -> None:
    sandbox = PythonSandbox()
    sandbox.run("1")
    pid, dropped = pid_of(sandbox), weakref.ref(sandbox)
    del sandbox
    gc.collect()
    assert dropped() is None and gone(pid)
    assert not [one for one in threading.enumerate() if one.name == "sotto-sandbox" and not one.daemon]


def test_a_sandbox_is_not_copied(shared: PythonSandbox) -> None:
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copied(shared)
    assert "PythonSandbox behind" in repr(shared)


def test_a_forked_process_cannot_use_it(sandbox: PythonSandbox) -> None:
    sandbox.run("x = 1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, from Python 3.12 on
        child = os.fork()
    if child == 0:
        try:
            sandbox.run("x")
        except sotto.SottoError as error:
            sandbox.close()
            os._exit(7 if "before the fork" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert sandbox.run("x").output == "1\n"


HOST = """
import os, sys, threading, time
from sotto.agent import PythonSandbox, SandboxLimits
sandbox = PythonSandbox(SandboxLimits(time_limit=600, cpu_time=600))
sandbox.run('''
import signal
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
''')
sandbox.run("1", "idle")
folders = [sandbox._sessions[one]._process.folder.path for one in ("main", "idle")]
threading.Thread(target=sandbox.run, args=("while True: pass",), daemon=True).start()
while sandbox._sessions["main"].idle: time.sleep(0.01)
print(*(sandbox._sessions[one].pid for one in ("main", "idle")), *folders, flush=True)
"""


@pytest.mark.parametrize("wall", HERE)
@pytest.mark.parametrize("end", ["exit", "exception", "os._exit", "SIGKILL", "SIGTERM"])
def test_processes_end_with_the_host(wall: str, end: str) -> None:
    """Also one that ignores signals and runs, and one that is stopped."""
    code = (
        "from sotto.agent.sandbox import walls\nwalls.find_bubblewrap = lambda: None\n"
        if wall == "landlock"
        else ""
    )
    ways = {"exit": "", "exception": "raise SystemExit(3)", "os._exit": "os._exit(0)"}
    host = subprocess.Popen(
        [sys.executable, "-c", code + HOST + ways.get(end, "time.sleep(100)")],
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
        text=True,
    )
    with host:
        assert host.stdout is not None
        main, idle, *folders = host.stdout.readline().split()
        if end.startswith("SIG"):
            (host.kill if end == "SIGKILL" else host.terminate)()
        assert host.wait(20) == {"exception": 3, "SIGKILL": -9, "SIGTERM": -15}.get(end, 0)
    assert gone(int(main)) and gone(int(idle))
    if end in ("exit", "exception"):
        assert not any(Path(one).exists() for one in folders)
    for one in folders:
        shutil.rmtree(one, ignore_errors=True)


def test_no_process_thread_or_descriptor_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def count() -> tuple[int, int]:
        gc.collect()
        return len(os.listdir("/proc/self/fd")), len(
            [one for one in threading.enumerate() if "sandbox" in one.name]
        )

    def once() -> None:
        with PythonSandbox(SandboxLimits(cpu_time=0.1)) as sandbox:
            sandbox.run("1")
            for code in ("while True: pass", "import os\nos._exit(1)"):
                with pytest.raises(SandboxError):
                    sandbox.run(code)

    once()
    before = count()
    for _ in range(3):
        once()
    assert count() == before
