"""Code execution of a `Runner`: limits and walls of its sandbox."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sotto
from runner_acting import Made, codes, results, run, runners
from runner_house import HOUSE, chat
from runner_script import HI
from sotto.agent.sandbox import walls
from sotto.runner import (
    CodeExecutionConfig,
    NetworkMode,
    Runner,
    RunnerError,
    SandboxPolicy,
    coding,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a sandbox needs Linux")
CONFIG = CodeExecutionConfig(timeout_secs=20)


@pytest.fixture
def made(engine: sotto.Engine) -> Iterator[Made]:
    with runners(engine) as make:
        yield make


@pytest.mark.row("E-612")
def test_the_interpreter(made: Made) -> None:
    config = CodeExecutionConfig(python_path=sys.executable, timeout_secs=20)
    runner = made(codes("import sys; print(sys.version_info[:2])"), code_execution_config=config)
    assert run(runner) == str(sys.version_info[:2])
    for wrong in ("/no/such/python", "/bin/true", ""):
        with pytest.raises(RunnerError, match="python_path"):
            Runner(HOUSE, code_execution_config=CodeExecutionConfig(python_path=wrong))


@pytest.mark.row("E-613")
def test_the_time_limit(made: Made) -> None:
    runner = made(
        codes("import time; time.sleep(30)"), code_execution_config=CodeExecutionConfig(timeout_secs=1)
    )
    assert "1 s" in run(runner)
    for wrong in (0, -1, 2**40):
        with pytest.raises(RunnerError, match="timeout_secs"):
            Runner(HOUSE, code_execution_config=CodeExecutionConfig(timeout_secs=wrong))


LIMITS = {  # row, code, and what it says at a limit of 64, or 192 MB
    "max_memory_mb": ("E-620", "x = bytes(300 << 20)", "MemoryError"),
    "max_open_fds": ("E-623", "x = [open('/dev/null') for _ in range(100)]", "OSError"),
    "max_file_sz_mb": ("E-624", "open('a', 'wb').write(bytes(65 << 20))", "OSError"),
    "max_procs": (
        "E-622",
        "import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(2,)).start()",
        "thread",
    ),
}


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        pytest.param(name, code, said, marks=pytest.mark.row("E-615", row), id=name)
        for name, (row, code, said) in LIMITS.items()
    ],
)
def test_a_limit(made: Made, name: str, code: str, said: str) -> None:
    policy = SandboxPolicy(**{"max_memory_mb": 2048, name: 192 if name == "max_memory_mb" else 64})
    config = CodeExecutionConfig(timeout_secs=20, sandbox_policy=policy)
    assert said in run(made(codes(code), code_execution_config=config))


@pytest.mark.row("E-621")
def test_the_processor_time(made: Made) -> None:
    """At least the time limit of a call."""
    config = CodeExecutionConfig(timeout_secs=2, sandbox_policy=SandboxPolicy(max_cpu_secs=1))
    limits = coding.CodeExecution(config, 1)._sandbox.limits
    assert (limits.time_limit, limits.cpu_time) == (2, 2)
    other = CodeExecutionConfig(timeout_secs=60, sandbox_policy=SandboxPolicy(max_cpu_secs=1))
    assert coding.CodeExecution(other, 1)._sandbox.limits.cpu_time == 60
    runner = made(codes("while True: pass"), code_execution_config=config)
    assert "2 s" in run(runner)


def test_limits_that_are_wrong() -> None:
    for name in ("max_memory_mb", "max_cpu_secs", "max_procs", "max_open_fds", "max_file_sz_mb"):
        for wrong in (0, -1, 2**40):
            policy = SandboxPolicy(**{name: wrong})
            with pytest.raises(RunnerError, match=f"invalid {name} '{wrong}'"):
                Runner(HOUSE, code_execution_config=CodeExecutionConfig(sandbox_policy=policy))
    with pytest.raises(TypeError, match="code_execution_config"):
        Runner(HOUSE, code_execution_config=SandboxPolicy())  # type: ignore[arg-type]


@pytest.mark.row("E-618", "E-625", "E-631", "E-632")
@pytest.mark.parametrize("mode", [NetworkMode.NoNetwork, NetworkMode.Loopback])
def test_there_is_no_network(made: Made, mode: NetworkMode) -> None:
    config = CodeExecutionConfig(timeout_secs=20, sandbox_policy=SandboxPolicy(network=mode))
    code = "import socket; socket.create_connection(('127.0.0.1', 9), 1)"
    assert "Error" in run(made(codes(code), code_execution_config=config))


@pytest.mark.row("E-626")
def test_a_file_that_may_be_read(made: Made, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("wolves stay outside")
    (tmp_path / "secret.txt").write_text("the key")
    policy = SandboxPolicy(extra_fs_read=[str(tmp_path / "rules.txt")])
    config = CodeExecutionConfig(timeout_secs=20, sandbox_policy=policy)
    read = "print(open({!r}).read())"
    paths = [str(tmp_path / name) for name in ("rules.txt", "secret.txt")]
    runner = made(codes(*(read.format(one) for one in paths)), code_execution_config=config)
    rules, secret = results(chat(runner, HI, enable_code_execution=True))
    assert rules == "wolves stay outside" and "the key" not in secret and "Error" in secret
    for wrong in ("/no/such/folder", "/"):
        with pytest.raises(RunnerError, match="extra_fs_read"):
            policy = SandboxPolicy(extra_fs_read=[wrong])
            Runner(HOUSE, code_execution_config=CodeExecutionConfig(sandbox_policy=policy))


@pytest.mark.row("E-629")
def test_a_wall_that_is_missing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(walls, "find_bubblewrap", lambda: None)
    strict = CodeExecutionConfig(sandbox_policy=SandboxPolicy(strict=True))
    with pytest.raises(RunnerError, match="no wall 'namespaces'"):
        Runner(HOUSE, code_execution_config=strict)
    coding.CodeExecution(CodeExecutionConfig(), 1).close()
    assert "no wall 'namespaces'" in caplog.text


def test_the_environment_is_empty(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTO_TEST_SECRET", "the key")
    told = run(made(codes("import os; print(dict(os.environ))"), code_execution_config=CONFIG))
    assert "the key" not in told
