"""Python sandboxes behind each kind of wall that this machine has."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from agent_script import call, calls, options, says
from sotto.agent import Agent, Answer, Permissions, PythonSandbox, SandboxError, SandboxLimits
from sotto.agent.sandbox import walls

LINUX = sys.platform == "linux"
SLEEP = "import time\ntime.sleep(30)"
OUTER = ("namespaces", "landlock")  # the wall around files; the first needs bubblewrap
SHORT = SandboxLimits(time_limit=1.5, cpu_time=0.3, memory_mb=192, files=64, disk_mb=8, file_mb=4, threads=8)


def open_sandbox(wall: str, limits: SandboxLimits | None = None, **options: Any) -> PythonSandbox:
    """Returns a sandbox behind one of `OUTER`, also where bubblewrap is installed."""
    with pytest.MonkeyPatch.context() as patch:
        if wall == "landlock":
            patch.setattr(walls, "find_bubblewrap", lambda: None)
        return PythonSandbox(limits, **options)


def _stands(wall: str) -> bool:
    try:
        with open_sandbox(wall) as sandbox:
            return wall in sandbox.walls and "seccomp" in sandbox.walls
    except SandboxError:
        return False


HERE = [wall for wall in OUTER if LINUX and _stands(wall)]
SYSTEM_PYTHON = [one for one in ("/usr/bin/python3",) if Path(one).exists()]
each_wall = pytest.mark.parametrize("wall", HERE)


def pid_of(sandbox: PythonSandbox, session_id: str = "main") -> int:
    return sandbox._sessions[session_id].pid


def gone(pid: int, seconds: float = 10) -> bool:
    """Waits until no process has an id, or a dead one alone."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def ask(engine: sotto.Engine, sandbox: PythonSandbox, *codes: str, **rules: Any) -> Answer:
    """Has a model run codes, one in each round. Returns its answer."""
    rounds = [calls(call("python", {"code": code})) for code in codes]
    engine.load_model("npc", options=options({"hi": [*rounds, says("Well.")]}))
    rules.setdefault("permissions", Permissions(approve=lambda request: True))
    with engine.session("gate", model="npc") as session:
        answer = Agent(session, [sandbox], **rules).say("hi")
    engine.unload_model("npc")
    assert answer.text == "Well."
    return answer


def without_process(shared: PythonSandbox) -> Iterator[PythonSandbox]:
    """Yields a sandbox that has no process, and ends its processes afterwards."""
    yield shared
    for one in list(shared._sessions):
        shared.end_session(one)
