"""The walls of a Python sandbox: which stand, what each holds alone, and how a missing one is named."""

from __future__ import annotations

import ctypes
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
from sandboxes import HERE, LINUX, SYSTEM_PYTHON, each_wall, gone, open_sandbox, pid_of
from sotto.agent import PythonSandbox, SandboxError
from sotto.agent.sandbox import interpreter, launch, process, seccomp, walls

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


CONNECT = "import socket\nsocket.create_connection(('127.0.0.1', {port}), timeout=2)"
NETWORK_RULES = LINUX and ctypes.CDLL(None).syscall(444, None, 0, 1) >= 4  # the version of Landlock


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine to which a connection can be made."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_namespaces_alone_keep_files_and_network_away(
    monkeypatch: pytest.MonkeyPatch, entered_path: Path, port: int
) -> None:
    if "namespaces" not in HERE:
        return
    without_landlock(monkeypatch)
    without_seccomp(monkeypatch)
    (entered_path / "secret").write_text(SECRET)
    with open_sandbox("namespaces") as made:
        assert made.walls == ("namespaces", "limits")
        for path in (
            "/etc/passwd",
            "/proc/self/status",
            f"/proc/{os.getpid()}/environ",
            entered_path / "secret",
        ):
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
    monkeypatch: pytest.MonkeyPatch, entered_path: Path, port: int
) -> None:
    if "landlock" not in HERE:
        return
    without_seccomp(monkeypatch)
    entered_path.chmod(0o777)
    (entered_path / "secret").write_text(SECRET)
    with open_sandbox("landlock") as made:
        assert made.walls == ("landlock", "limits")
        for path in (
            "/etc/passwd",
            "/proc/self/status",
            f"/proc/{os.getpid()}/environ",
            entered_path / "secret",
        ):
            assert "PermissionError" in made.run(f"open({str(path)!r})").output
        assert (
            not made.run(f"open({str(entered_path / 'x')!r}, 'w')").ok and not made.run("os.listdir('/')").ok
        )
        assert not made.run(f"import os\nos.kill({os.getpid()}, 0)").ok
        refused = made.run(CONNECT.format(port=port)).output.endswith("[Errno 13] Permission denied\n")
        assert refused or not NETWORK_RULES


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
