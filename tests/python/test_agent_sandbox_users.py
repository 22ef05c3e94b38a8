"""Whom the code of a sandbox runs as: root, and other users."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ENVIRONMENT
from sandboxes import HERE, LINUX, SYSTEM_PYTHON, each_wall, open_sandbox, pid_of
from sotto.agent import PythonSandbox, SandboxError, SandboxLimits
from sotto.agent.sandbox import sandbox

pytestmark = [pytest.mark.row("E-096"), pytest.mark.skipif(not LINUX, reason="sandboxes need Linux")]
SECRET = "sotto-secret-7d1f0c"


def test_bubblewrap_as_a_user_maps_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another user than root does, also tried by root."""
    if "namespaces" not in HERE:
        return
    monkeypatch.setattr(sandbox, "is_root", lambda: False)
    with open_sandbox("namespaces", SandboxLimits(threads=6)) as made:
        if os.geteuid() == 0 and "namespaces" not in made.walls:
            assert "does not work here" in made.missing["namespaces"]  # user namespaces are forbidden
            return
        assert (
            made.run("import os\nos.getresuid(), os.getresgid()").output
            == f"{((65534,) * 3, (65534,) * 3)}\n"
        )
        assert not made.run("open('/etc/passwd')").ok and not made.run("os.chmod(os.__file__, 0o777)").ok
        status = Path(f"/proc/{pid_of(made)}/status").read_text()
        assert "CapEff:\t0000000000000000" in status and "NoNewPrivs:\t1" in status
        assert threads_of(made) in ("threads", "RuntimeError: can't start new thread")


def test_root_gives_each_session_a_user_of_its_own() -> None:
    if os.geteuid() != 0:
        return
    for wall in HERE:
        with open_sandbox(wall) as made:
            users = [int(made.run("import os\nos.getuid()", name).output) for name in ("a", "b")]
        assert len(set(users)) == 2 and 0 not in users


THREADS = """
import threading
for _ in range(99):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""


def threads_of(made: PythonSandbox) -> str:
    """Starts too many threads. Returns what stopped that."""
    try:
        return made.run(THREADS).output.strip().splitlines()[-1]
    except SandboxError as error:
        return error.ending


AS_USER = """
import json, os, sys, tempfile
from sotto.agent import PythonSandbox, SandboxError, SandboxLimits
from sotto.agent.sandbox import launch, walls
wall, user, python, tempfile.tempdir = sys.argv[1:5]
launch.guest_source()
if int(user):
    os.setgroups([])
    os.setresgid(*[int(user)] * 3)
    os.setresuid(*[int(user)] * 3)
if wall == "landlock":
    walls.find_bubblewrap = lambda: None
with PythonSandbox(SandboxLimits(time_limit=5, threads=6, files=16), python=python) as sandbox:
    def run(code):
        try:
            return sandbox.run(code).output.strip().splitlines()[-1]
        except SandboxError as error:
            return error.ending
    codes = json.loads(sys.stdin.read())
    found = {"walls": sandbox.walls, "missing": dict(sandbox.missing), "results": [run(one) for one in codes]}
found["left"] = os.listdir(tempfile.tempdir)
print(json.dumps(found))
"""


@each_wall
@pytest.mark.parametrize("python", SYSTEM_PYTHON)
def test_another_user_than_root(wall: str, python: str, entered_path: Path) -> None:
    """The user owns files that the code must not touch, and has processes that it must not signal."""
    user = 54321 if os.geteuid() == 0 else 0
    secret = entered_path / "secret"
    secret.write_text(SECRET)
    (folder := entered_path / "work").mkdir()
    if user:
        os.chown(secret, user, user)
        os.chown(folder, user, user)
    codes = [
        "6 * 7",
        f"open({str(secret)!r}).read()",
        f"import os; os.chmod({str(secret)!r}, 0o777)",
        f"os.utime({str(secret)!r})",
        f"os.unlink({str(secret)!r})",
        f"os.truncate({str(secret)!r}, 0)",
        f"os.rename({str(secret)!r}, 'mine')",
        "os.kill(os.getppid(), 0)",
        "os.kill(-1, 0)",
        "os.setuid(0)",
        "os.fork()",
        "import socket; socket.socket()",
        "open('own', 'w').write('x')",
        THREADS,
        "import os; os.mkdir('hidden', 0o300); os.chdir('hidden'); [open(str(n), 'w') for n in range(20)]",
        "1 + 1",
    ]
    done = subprocess.run(
        [sys.executable, "-c", AS_USER, wall, str(user), python, str(folder)],
        input=json.dumps(codes),
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if wall == "namespaces" and wall not in found["walls"]:
        assert "does not work here" in found["missing"]["namespaces"]  # user namespaces are forbidden
    first, *refused, own, threads, hidden, last = found["results"]
    assert (first, own, hidden, last) == ("42", "1", "files", "2"), found
    assert threads == "threads" or "can't start new thread" in threads
    assert all("Error" in one for one in refused) and found["left"] == [], found
    assert secret.read_text() == SECRET and secret.stat().st_mode & 0o777 == 0o644


def test_root_without_capabilities() -> None:
    """Like in a container without CAP_SETUID: the code stays this user, and reaches nothing of it."""
    if os.geteuid() != 0:
        return
    code = """
import ctypes
from sotto.agent import PythonSandbox
from sotto.agent.sandbox import launch, walls
class Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]
assert launch.is_root()
empty = (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None).capset(ctypes.byref(Header(0x20080522, 0)), empty) == 0
assert not launch.is_root()
walls.find_bubblewrap = lambda: None
with PythonSandbox() as sandbox:
    print(sandbox.run("import os; os.getuid()").output)
    codes = ("open('/etc/passwd')", "os.chmod(os.__file__, 0o777)", "os.kill(os.getppid(), 0)", "os.fork()")
    for code in codes:
        print(sandbox.run(code).output.splitlines()[-1])
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=False)
    user, _, *refused = done.stdout.splitlines()
    assert user == "0" and len(refused) == 4, done.stderr
    assert all(one.startswith("PermissionError") for one in refused), refused


def test_a_subreaper_has_no_dead_children_left() -> None:
    """Like the first process of a container, which inherits what bubblewrap leaves behind."""
    code = """
import ctypes, os, time
from sotto.agent import PythonSandbox, SandboxError
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER
with PythonSandbox() as sandbox:
    for code in ("1", "import os; os._exit(1)", "1", "import ctypes; ctypes.string_at(0)", "1"):
        try: sandbox.run(code)
        except SandboxError: pass
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("none")
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=True)
    assert done.stdout == "none\n"
