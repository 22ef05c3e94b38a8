"""The walls of a Python sandbox: which stand, what each holds alone, and how a missing one is named."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sotto
from conftest import ENVIRONMENT
from sandboxes import HERE, LINUX, each_wall, gone, open_sandbox, pid_of
from sotto.agent import PythonSandbox, SandboxError, SandboxLimits
from sotto.agent.sandbox import interpreter, launch, process, sandbox, seccomp, walls

pytestmark = [pytest.mark.row("E-096"), pytest.mark.skipif(not LINUX, reason="sandboxes need Linux")]
SECRET = "sotto-secret-7d1f0c"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Walls are tried out again, as tests take some away."""
    yield
    walls._try.cache_clear()
    seccomp.program.cache_clear()


def without_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    source = launch.guest_source()
    changed = source.replace(
        "    return max(_system_call(_CREATE_RULESET, None, 0, 1), 0)\n", "    return 0\n"
    )
    assert changed != source
    monkeypatch.setattr(launch, "guest_source", lambda: changed)
    walls._try.cache_clear()


def without_seccomp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "library", lambda: None)
    seccomp.program.cache_clear()
    walls._try.cache_clear()


def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walls, "find_bubblewrap", lambda: None)


TAKEN = {
    "namespaces": (without_bubblewrap, "bubblewrap is not installed; install the package bubblewrap"),
    "seccomp": (without_seccomp, "libseccomp is not installed; install the package libseccomp2"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_missing_wall_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    take, why = TAKEN[name]
    take(monkeypatch)
    with pytest.raises(SandboxError, match=f"no wall '{name}': {why}") as raised:
        PythonSandbox(strict=True)
    assert raised.value.status == sotto.Status.UNSUPPORTED and not caplog.records
    with PythonSandbox() as made:
        assert name in made.missing and name not in made.walls and made.run("1 + 1").output == "2\n"
    (record,) = [one for one in caplog.records if f"'{name}'" in one.message]
    assert record.levelno == logging.WARNING and record.name == "sotto.agent" and why in record.message


def test_all_walls_are_named_where_none_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for take in (without_bubblewrap, without_landlock, without_seccomp):
        take(monkeypatch)
    with PythonSandbox() as made:
        assert made.walls == ("limits",) and set(made.missing) == {"namespaces", "landlock", "seccomp"}
    assert len(caplog.records) == 3 and "can read and write the user's files" in caplog.text


def test_strict_where_all_stand() -> None:
    if "namespaces" in HERE:
        with PythonSandbox(strict=True) as made:
            assert set(made.walls) >= {"namespaces", "seccomp", "limits"} and made.missing == {}
    else:
        with pytest.raises(SandboxError, match="namespaces"):
            PythonSandbox(strict=True)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'bwrap: no permission' >&2; exit 1", "bwrap: no permission"),
        ("exit 3", "exit status 3"),
        ("kill -9 $$", "SIGKILL"),
        ("/bin/sleep 60", "no answer within 0.5 s"),
        ("while :; do echo y; done", "no answer within 0.5 s"),
        ("printf '\\377\\377\\377\\177' >&${@: -1}; /bin/sleep 60", "no answer within 0.5 s"),
    ],
)
def test_a_bubblewrap_that_does_not_work(
    script: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/bash\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(walls, "find_bubblewrap", lambda: str(fake))
    monkeypatch.setattr(process, "START_SECONDS", 0.5)
    try:
        found = PythonSandbox()
    except SandboxError as error:  # Python itself takes longer than that on this machine now
        assert "no answer" in str(error)
        return
    with found:
        assert "bubblewrap does not work here" in found.missing["namespaces"]
        assert why in found.missing["namespaces"] and found.walls[0] == "landlock"


def test_namespaces_alone_keep_files_and_network_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if "namespaces" not in HERE:
        return
    without_landlock(monkeypatch)
    without_seccomp(monkeypatch)
    (tmp_path / "secret").write_text(SECRET)
    with open_sandbox("namespaces") as made:
        assert made.walls == ("namespaces", "limits")
        for path in ("/etc/passwd", "/proc/self/status", f"/proc/{os.getpid()}/environ", tmp_path / "secret"):
            assert "FileNotFoundError" in made.run(f"open({str(path)!r})").output
        names = set(eval(made.run("import os\nos.listdir('/')").output))
        assert names <= {"dev", "lib", "lib64", "lib32", "libx32", "bin", "sbin", "usr", "tmp", "root", "opt",
                         "home", "nix", "work", "var", Path(sys.base_prefix).parts[1]}  # fmt: skip
        assert set(eval(made.run("os.listdir('/dev')").output)) == {"null", "urandom"}
        assert "ConnectionRefusedError" in made.run(CONNECT.format(port=port)).output  # its own loopback
        assert made.run("[name for _, name in socket.if_nameindex()]").output == "['lo']\n"
        for path in ("/x", "/usr/x", os.path.dirname(os.__file__) + "/x", "/dev/x"):
            assert not made.run(f"open({path!r}, 'w')").ok
        assert made.run("os.getpid()").output == "2\n" and not made.run(f"os.kill({os.getpid()}, 0)").ok
        assert not made.run("os.setuid(0)").ok and not made.run("os.chroot('.')").ok


def test_landlock_alone_keeps_files_and_network_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, port: int
) -> None:
    if "landlock" not in HERE:
        return
    without_seccomp(monkeypatch)
    tmp_path.chmod(0o777)
    (tmp_path / "secret").write_text(SECRET)
    with open_sandbox("landlock") as made:
        assert made.walls == ("landlock", "limits")
        for path in ("/etc/passwd", "/proc/self/status", f"/proc/{os.getpid()}/environ", tmp_path / "secret"):
            assert "PermissionError" in made.run(f"open({str(path)!r})").output
        assert not made.run(f"open({str(tmp_path / 'x')!r}, 'w')").ok and not made.run("os.listdir('/')").ok
        assert not made.run(f"import os\nos.kill({os.getpid()}, 0)").ok
        assert (
            made.run(CONNECT.format(port=port)).output.endswith(
                "PermissionError: [Errno 13] Permission denied\n"
            )
            or not NETWORK_RULES
        )


# Users


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
import ctypes, json, os, sys
from sotto.agent import PythonSandbox, SandboxError, SandboxLimits
from sotto.agent.sandbox import launch, walls
wall, user, python, secret = sys.argv[1:5]
launch.guest_source()
if int(user):
    os.setgroups([])
    os.setresgid(*[int(user)] * 3)
    os.setresuid(*[int(user)] * 3)
if wall == "landlock":
    walls.find_bubblewrap = lambda: None
with PythonSandbox(SandboxLimits(time_limit=5, threads=6), python=python) as sandbox:
    def run(code):
        try:
            return sandbox.run(code).output.strip().splitlines()[-1]
        except SandboxError as error:
            return error.ending
    codes = json.loads(sys.stdin.read())
    found = {"walls": sandbox.walls, "missing": dict(sandbox.missing), "results": [run(one) for one in codes]}
    print(json.dumps(found))
"""
SYSTEM_PYTHON = [one for one in ("/usr/bin/python3",) if Path(one).exists()]


@each_wall
@pytest.mark.parametrize("python", SYSTEM_PYTHON)
def test_another_user_than_root(wall: str, python: str, tmp_path: Path) -> None:
    """The user owns files that the code must not touch, and has processes that it must not signal."""
    user = 54321 if os.geteuid() == 0 else 0
    for folder in (tmp_path, *tmp_path.parents):
        if "pytest" in folder.name:
            folder.chmod(0o755)
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    if user:
        os.chown(secret, user, user)
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
        "1 + 1",
    ]
    done = subprocess.run(
        [sys.executable, "-c", AS_USER, wall, str(user), python, str(secret)],
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
    first, *refused, own, threads, last = found["results"]
    assert (first, own, last) == ("42", "1", "2"), found
    assert threads == "threads" or "can't start new thread" in threads
    assert all("Error" in one for one in refused), found
    assert secret.read_text() == SECRET and secret.stat().st_mode & 0o777 == 0o644


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


# Interpreters


@each_wall
@pytest.mark.parametrize("python", SYSTEM_PYTHON)
def test_another_interpreter(wall: str, python: str) -> None:
    with open_sandbox(wall, python=python) as made:
        prefix = eval(made.run("import sys\nsys.base_prefix").output)
        assert prefix == "/usr" and made.run("import sqlite3, ssl, ctypes\n1").output == "1\n"


def test_a_program_that_embeds_python_names_an_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_base_executable", "/opt/game/game")
    with pytest.raises(sotto.ArgumentError, match="invalid python 'None': expected the path of a Python"):
        PythonSandbox()


def test_paths_without_those_that_are_hidden(tmp_path: Path) -> None:
    for name in (
        "lib/a.py",
        "lib/json/b.py",
        "lib/site-packages/sotto/c.py",
        "lib/site-packages/d.py",
        "bin/e",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    lib = str(tmp_path / "lib")
    assert interpreter.split([lib], []) == ([lib], [])
    assert interpreter.split([lib], [lib]) == ([], [])
    read, both = interpreter.split([lib], [f"{lib}/site-packages/sotto"])
    assert read == [f"{lib}/a.py", f"{lib}/json", f"{lib}/site-packages/d.py"]
    assert both == [lib, f"{lib}/site-packages"]
    assert interpreter.is_beneath("/usr/lib64", ["/usr/lib"]) is False
    assert interpreter.is_beneath("/usr/lib/x", ["/usr/lib"]) and interpreter.is_beneath(
        "/usr/lib", ["/usr/lib"]
    )


# Other systems


@pytest.mark.parametrize("platform", ["win32", "darwin", "emscripten"])
def test_other_systems_are_refused(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(SandboxError, match=f"needs Linux.*{platform}") as raised:
        PythonSandbox()
    assert raised.value.status == sotto.Status.UNSUPPORTED


def test_the_package_can_be_imported_without_unix() -> None:
    code = """
import os, sys
for name in ("resource", "fcntl", "grp", "pwd", "termios"):
    sys.modules[name] = None
for name in ("geteuid", "sysconf", "fork", "memfd_create", "pidfd_open"):
    delattr(os, name)
import sotto.agent
assert "sotto.agent.sandbox.guest" not in sys.modules
print(sotto.agent.PythonSandbox)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=False)
    assert "PythonSandbox" in done.stdout, done.stderr


def test_the_constants_of_the_guest_are_those_of_the_host() -> None:
    assert f"\nTOKEN = {process._TOKEN}\n" in launch.guest_source()
    assert len(seccomp.program(seccomp.FilterOptions(2, True))) % 8 == 0
    one, other = (seccomp.program(seccomp.FilterOptions(pid, True)) for pid in (2, 3))
    assert one and other and one != other != seccomp.program(seccomp.FilterOptions(3, False))


def test_a_killed_bubblewrap_takes_the_process_with_it() -> None:
    if "namespaces" not in HERE:
        return
    with open_sandbox("namespaces") as made:
        made.run("1")
        pid = pid_of(made)
        popen = made._sessions["main"]._process._popen  # type: ignore[union-attr]
        assert popen is not None
        popen.kill()
        assert gone(pid) and made.run("1").lost
