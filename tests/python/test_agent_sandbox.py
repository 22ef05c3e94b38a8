"""`sotto.agent.PythonSandbox`: state, output, files, and arguments."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.aio
from sandboxes import HERE, LINUX, SLEEP, ask, open_sandbox, without_process
from sotto.agent import (
    PythonSandbox,
    SandboxLimits,
)

pytestmark = [pytest.mark.row("E-096"), pytest.mark.skipif(not LINUX, reason="sandboxes need Linux")]


@pytest.fixture(scope="module")
def shared() -> Iterator[PythonSandbox]:
    with PythonSandbox() as made:
        yield made


@pytest.fixture
def sandbox(shared: PythonSandbox) -> Iterator[PythonSandbox]:
    yield from without_process(shared)


# Calls


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("", ""),
        ("1 + 1", "2\n"),
        ("'text'", "'text'\n"),
        ("None", ""),
        ("x = 5", ""),
        ("x = 5; x", "5\n"),
        ("if True:\n    3", ""),
        ("for n in range(2): print(n)", "0\n1\n"),
        ("print('out'); 7", "out\n7\n"),
        ("import sys\nn = sys.stderr.write('err\\n')\nprint('out')\nn", "err\nout\n4\n"),
        ("'é夜\\U0001f43a'", "'é夜\U0001f43a'\n"),
        ("__name__", "'__main__'\n"),
        ("import os\nos.write(1, b'raw\\n')", "raw\n4\n"),
        ("from __future__ import annotations\ndef f(a: b): pass\nf.__annotations__", "{'a': 'b'}\n"),
        ("class A: pass\nimport pickle\ntype(pickle.loads(pickle.dumps(A()))) is A", "True\n"),
        ("import asyncio\nasyncio.run(asyncio.sleep(0.01, 5))", "5\n"),
        ("import json, re, random, statistics, datetime, decimal, sqlite3, zlib, ssl\n0.5", "0.5\n"),
        ("import shutil\nopen('a', 'w').write('x')\nshutil.copy2('a', 'b')", "'b'\n"),
        ("import os, subprocess\nopen(os.devnull, 'w').write('x')", "1\n"),
        ("len(open('/dev/urandom', 'rb').read(8))", "8\n"),
        ("import tempfile\nf = tempfile.TemporaryFile()\nf.write(b'x')", "1\n"),
    ],
)  # fmt: skip
def test_a_call_returns_what_it_prints_and_its_last_value(
    shared: PythonSandbox, code: str, output: str
) -> None:
    result = shared.run(code, "calls")
    assert (result.output, result.ok, result.lost) == (output, True, "")
    assert 0 < result.seconds < 30


def test_state_is_kept_between_calls_and_for_each_session(sandbox: PythonSandbox) -> None:
    sandbox.run("x = 1\ndef f(): return x\nimport math")
    assert sandbox.run("x += 1\nprint(f(), math.pi > 3)").output == "2 True\n"
    assert not sandbox.run("x", "other").ok and sandbox.run("x").output == "2\n"


def test_errors_have_the_lines_of_the_code_alone(sandbox: PythonSandbox) -> None:
    result = sandbox.run("def f():\n    return 1 / 0\nprint('before')\nf()")
    lines = result.output.splitlines()
    assert not result.ok and lines[:2] == ["before", "Traceback (most recent call last):"]
    assert lines[-1] == "ZeroDivisionError: division by zero" and "    return 1 / 0" in lines
    assert "guest" not in result.output and "serve" not in result.output and result.text.endswith("by zero")
    again = sandbox.run("f()").output
    assert '"<call 1>", line 2, in f' in again and '"<call 2>", line 1, in <module>' in again


@pytest.mark.parametrize("number", [100, 8192, 8193, 70_000, 1_000_000])
def test_long_output_loses_its_middle(shared: PythonSandbox, number: int) -> None:
    result = shared.run(f"print('<' + '夜' * {number - 2} + '>', end='')", "output")
    if number <= 8192:
        assert result.output == "<" + "夜" * (number - 2) + ">"
    else:
        note = f"\n[cut: the output has {3 * (number - 2) + 2} bytes]\n"
        assert result.output == "<" + "夜" * 4095 + note + "夜" * 4095 + ">"


def test_bytes_that_are_no_text_are_replaced(sandbox: PythonSandbox) -> None:
    assert sandbox.run("import os\nos.write(1, b'\\xff\\n')").output == "\ufffd\n2\n"
    assert sandbox.run("print('\\ud800')").output == "\\ud800\n"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (None, TypeError),
        (b"1", TypeError),
        (1, TypeError),
        ("x" * 40_000, ValueError),
        ("'\ud800'", ValueError),
    ],
)
def test_code_is_checked(shared: PythonSandbox, code: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="invalid code"):
        shared.run(code)
    for name in (None, 1, "", "a\0"):
        with pytest.raises((TypeError, ValueError), match="invalid session_id"):
            shared.run("1", name)  # type: ignore[arg-type]


# Files


def test_files_come_back_with_ids(sandbox: PythonSandbox) -> None:
    result = sandbox.run(
        "import os\nopen('a.txt', 'w').write('one')\nos.makedirs('d/e')\nopen('d/e/b', 'wb').write(b'\\0')"
    )
    one, two = result.files
    assert (one.name, one.data, two.name, two.data) == ("a.txt", b"one", "d/e/b", b"\0")
    assert sandbox.file(one.id) == one and one.id != two.id and sandbox.files("main") == [one, two]
    assert result.text == f"1\n[file a.txt: 3 bytes, id {one.id}]\n[file d/e/b: 1 bytes, id {two.id}]"
    assert sandbox.run("open('a.txt').read()").files == ()
    (changed,) = sandbox.run("open('a.txt', 'a').write('!')").files
    assert changed.data == b"one!" and changed.id != one.id and sandbox.file(one.id).data == b"one"
    assert sandbox.run("import os\nos.remove('a.txt')").files == ()
    sandbox.end_session("main")
    assert sandbox.file(changed.id) == changed and sandbox.files("other") == []
    for name in ("", "file_0", 1, None):
        with pytest.raises((sotto.SottoError, TypeError)):
            sandbox.file(name)  # type: ignore[arg-type]


def test_the_oldest_files_are_dropped() -> None:
    limits = SandboxLimits(files=4, disk_mb=1)
    with PythonSandbox(limits, max_sessions=1) as sandbox:
        ids = [sandbox.run(f"open('f', 'w').write('{n}')").files[0].id for n in range(6)]
        assert [one.id for one in sandbox.files()] == ids[2:]
        code = "import os\nos.remove('f')\nfor n in range(2): open(str(n), 'wb').write(bytes(500_000))"
        large = sandbox.run(code).files
        assert sandbox.files()[-2:] == list(large) and len(sandbox.files()) == 4
        again = sandbox.run("for n in range(2): open(str(n), 'wb').write(bytes(500_001))").files
        assert sandbox.files() == list(again)
        with pytest.raises(sotto.SottoError, match=f"unknown file '{ids[0]}'"):
            sandbox.file(ids[0])


def test_folders_are_removed_and_others_cannot_enter(sandbox: PythonSandbox) -> None:
    folder = Path(eval(sandbox.run("import os\nos.getcwd()").output))
    assert folder.stat().st_mode & 0o777 == 0o700
    sandbox.end_session("main")
    assert not folder.exists()


@pytest.mark.parametrize("wall", HERE)
def test_code_reads_what_the_host_allows(wall: str, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir(mode=0o755)
    (tmp_path / "rules" / "book.txt").write_text("one key")
    (tmp_path / "rules" / "lore.py").write_text("KEY = 7")
    (tmp_path / "secret").write_text("x")
    rules = tmp_path / "rules"
    with open_sandbox(wall, readable=[rules], description="Reads the rules.") as sandbox:
        assert sandbox.tools[0].description == "Reads the rules."
        assert sandbox.run(f"open({str(rules / 'book.txt')!r}).read()").output == "'one key'\n"
        assert (
            sandbox.run(f"import sys\nsys.path.append({str(rules)!r})\nimport lore\nlore.KEY").output == "7\n"
        )
        assert not sandbox.run(f"open({str(rules / 'book.txt')!r}, 'a')").ok
        assert not sandbox.run(f"open({str(rules / 'new')!r}, 'w')").ok
        assert not sandbox.run(f"open({str(tmp_path / 'secret')!r})").ok


# Arguments


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"limits": 5}, "invalid limits"),
        ({"limits": {"time_limit": 5}}, "invalid limits"),
        ({"max_sessions": 0}, "invalid max_sessions"),
        ({"max_sessions": 10**6}, "invalid max_sessions"),
        ({"max_sessions": True}, "invalid max_sessions"),
        ({"strict": 1}, "invalid strict"),
        ({"name": "two words"}, "invalid name"),
        ({"permission": "maybe"}, "invalid permission"),
        ({"sandboxed": False}, "invalid option 'sandboxed'"),
        ({"python": "/bin/true"}, "invalid python"),
        ({"python": "/nowhere/python"}, "invalid python"),
        ({"python": ""}, "invalid python"),
        ({"readable": "/usr"}, "invalid readable"),
        ({"readable": 5}, "invalid readable"),
        ({"readable": ["/"]}, "invalid readable"),
        ({"readable": ["/nowhere"]}, "invalid readable"),
        ({"readable": ["a\0b"]}, "invalid readable"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises((TypeError, ValueError), match=match):
        PythonSandbox(**arguments)


@pytest.mark.parametrize("name", SandboxLimits.__dataclass_fields__)
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), 1 << 70, "5", None, True])
def test_limits_are_checked(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"invalid {name}"):
        SandboxLimits(**{name: value})


def test_limits_are_numbers_of_any_kind() -> None:
    class Whole:
        def __index__(self) -> int:
            return 100

    limits = SandboxLimits(time_limit=Fraction(1, 2), memory_mb=Whole())  # type: ignore[arg-type]
    assert (limits.time_limit, limits.memory_mb) == (0.5, 100) and type(limits.memory_mb) is int


def test_a_limit_that_python_does_not_fit_in_is_reported() -> None:
    with PythonSandbox(SandboxLimits(memory_mb=64, threads=1, open_files=16, files=1, output=64)) as sandbox:
        assert sandbox.run("1 + 1").output == "2\n"


def test_the_log_of_the_agent_has_no_code(engine: sotto.Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with PythonSandbox(SandboxLimits(cpu_time=0.1)) as sandbox:
        ask(engine, sandbox, "secret_name = 1\nwhile True: pass")
    assert "secret_name" not in caplog.text


def test_asyncio_cancellation_of_a_call_that_waits(sandbox: PythonSandbox) -> None:
    async def main() -> None:
        context: Any = sotto.agent.CallContext("python", session_id="main")
        (tool,) = sandbox.tools
        slow = asyncio.ensure_future(tool.run({"code": SLEEP}, context))
        waits = asyncio.ensure_future(tool.run({"code": "x = 1"}, context))
        await asyncio.sleep(0.3)
        waits.cancel()
        slow.cancel()
        ended = await asyncio.gather(slow, waits, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in ended)

    asyncio.run(main())
    assert sandbox.run("'x' in globals()").output == "False\n"
