"""Code execution of a `Runner`: state, files, permissions, and threads."""

from __future__ import annotations

import base64
import gc
import json
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import sotto
from agent_script import options
from runner_acting import Made, codes, plays_of, records, results, run, runners
from runner_house import HOUSE, chat, stream
from runner_script import HI, user
from sandboxes import gone
from sotto.runner import (
    AgentPermission,
    AgentToolApproval,
    AgentToolApprovalDecision,
    AgentToolKind,
    AgentToolSource,
    CodeExecutionConfig,
    CodeExecutionPermission,
    File,
    FileSource,
    RequestedFile,
    Runner,
    RunnerError,
    Which,
)
from sotto.runner.files import MAX_BODY
from sotto.runner.toolkit import told

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a sandbox needs Linux")
CONFIG = CodeExecutionConfig(timeout_secs=20)
Permission = CodeExecutionPermission


@pytest.fixture
def made(engine: sotto.Engine) -> Iterator[Made]:
    with runners(engine) as make:
        yield make


def pid(runner: Runner, session: str) -> int:
    code = runner._tools.code
    assert code is not None
    return code._sandbox._sessions[runner._sessions._sessions["npc", session].sandbox].pid


def pids(runner: Runner) -> list[int]:
    code = runner._tools.code
    assert code is not None
    return [one.pid for one in code._sandbox._sessions.values()]


def started(runner: Runner) -> int:
    """Waits for the only process."""
    end = time.monotonic() + 30
    while not any(pids(runner)):
        assert time.monotonic() < end, "no process was started"
        time.sleep(0.01)
    return pids(runner)[0]


@pytest.mark.row("E-028", "E-130", "E-610")
def test_when_code_runs(made: Made) -> None:
    code = "print(6 * 7)"
    assert chat(made(codes(code)), HI, enable_code_execution=True).agentic_tool_calls is None
    runner = made(codes(code), code_execution_config=CONFIG)
    assert chat(runner, HI).agentic_tool_calls is None and pids(runner) == []
    answer = chat(runner, HI, enable_code_execution=True)
    (one,) = records(answer)
    assert (one.name, one.result_content, one.file_ids) == (
        "execute_python",
        "42",
        [],
    ) and answer.files is None
    chunks = list(stream(runner, HI, enable_code_execution=True))
    assert chunks[-1].choices[0].finish_reason == "stop" and chunks[-1].session_id


@pytest.mark.row("E-096")
def test_the_state_of_a_session(made: Made) -> None:
    plays = codes("x = 1") | {"then": codes("print(x)")["hi"], "loop": codes("while True: pass")["hi"]}
    runner = made(plays, code_execution_config=CodeExecutionConfig(timeout_secs=1))
    for name in ("s", "t"):
        run(runner, session_id=name)
    fields: dict[str, Any] = {"enable_code_execution": True, "session_id": "s"}
    assert results(chat(runner, user("then"), **fields)) == ["1"]
    assert "NameError" in results(chat(runner, user("then"), **{**fields, "session_id": "new"}))[0]
    first, second, third = (pid(runner, name) for name in ("s", "t", "new"))
    assert "1 s" in results(chat(runner, user("loop"), **fields))[0] and gone(first)
    assert "NameError" in results(chat(runner, user("then"), **fields))[0]
    assert runner.delete_session("t")
    gc.collect()
    assert gone(second)
    run(runner, session_id="t")  # the same id, and another process
    again = pids(runner)
    runner.close()
    assert gone(third) and all(map(gone, again))


def test_a_session_that_is_imported_has_no_variables(made: Made) -> None:
    runner = made(codes("x = 1") | {"then": codes("print(x)")["hi"]}, code_execution_config=CONFIG)
    run(runner, session_id="s")
    runner.import_session("s", runner.export_session("s") or "")
    told = results(chat(runner, user("then"), enable_code_execution=True, session_id="s"))
    assert "NameError" in told[0]


def test_the_processes_end_with_the_engine() -> None:
    with sotto.Engine() as engine, Runner(HOUSE, engine=engine, code_execution_config=CONFIG) as runner:
        code = runner._tools.code
        assert code is not None
        assert code._sandbox.run("1 + 1").output.strip() == "2"
        (pid,) = pids(runner)
        engine.close()
        assert gone(pid)


@pytest.mark.row("E-089")
def test_files(made: Made) -> None:
    write = "open('a.csv', 'w').write('gate,open\\n'); open('b.bin', 'wb').write(b'\\0\\xff')"
    more = "open('a.csv', 'a').write('north,yes\\n')"
    large = f"open('large.txt', 'w').write('x' * {MAX_BODY + 1})"
    runner = made(codes(write, more) | {"large": codes(large)["hi"]}, code_execution_config=CONFIG)
    answer = chat(runner, HI, enable_code_execution=True, session_id="s")
    first, second = records(answer)
    assert answer.files is not None
    text, data, after = sorted(answer.files, key=lambda one: (one.source.round, one.name))
    assert {text.id, data.id} == set(first.file_ids) and [after.id] == second.file_ids
    assert text.id in first.result_content and after.id in second.result_content
    assert (text.name, text.format, text.mime_type, text.text, text.bytes) == (
        "a.csv",
        "csv",
        "text/csv",
        "gate,open\n",
        10,
    )
    assert after.text == "gate,open\nnorth,yes\n" and after.source == FileSource("execute_python", 2, 1)
    assert base64.b64decode(data.data_base64 or "") == b"\0\xff" and data.is_binary() and data.preview is None
    assert runner.find_file(text.id) == text and text.source == FileSource("execute_python", 1, 1)
    exported = runner.export_session("s") or ""
    runner.delete_session("s")
    assert runner.find_file(text.id) is None
    runner.import_session("copy", exported)
    assert runner.find_file(data.id) == data
    big = chat(runner, user("large"), enable_code_execution=True)
    assert big.files is not None
    (one,) = big.files
    whole = runner.find_file(one.id)
    assert one.is_truncated() and one.bytes == MAX_BODY + 1 and len(one.preview or "") == 256
    assert whole is not None and whole.text == "x" * (MAX_BODY + 1)


@pytest.mark.row("E-097", "E-135")
def test_files_that_are_requested(made: Made) -> None:
    plays = codes("open('a.csv', 'w').write('x')")
    runner = made(plays, code_execution_config=CONFIG)
    wanted = [RequestedFile("a.csv", "csv", "Which gates are open."), RequestedFile("map.png")]
    answer = chat(runner, HI, enable_code_execution=True, files=wanted)
    assert answer.files is not None
    there, missing = answer.files
    assert (there.name, there.text, there.is_error()) == ("a.csv", "x", False)
    assert (missing.name, missing.is_error(), missing.bytes) == ("map.png", True, 0)
    assert "map.png" in str(missing.text) and runner.find_file(missing.id) is None
    assert runner._tools.code is not None
    (tool,) = told(runner._tools.code._sandbox.tools, wanted)
    assert "a.csv (csv): Which gates are open.; map.png" in tool.description
    with pytest.raises(RunnerError, match="files"):
        chat(runner, HI, files=wanted)


def test_files_of_callbacks_can_be_requested(made: Made) -> None:
    def draw(name: str, arguments: Any) -> File:
        return File("", "map.png", "png", None, 0, FileSource("", 0, 0), None, "AAE=", None)

    schema = json.dumps({"type": "function", "function": {"name": "draw"}})
    runner = made(plays_of(("draw", {})), tool_callbacks={"draw": draw})
    answer = chat(runner, HI, tool_schemas=[schema], files=[RequestedFile("map.png"), RequestedFile("b")])
    assert answer.files is not None and [one.is_error() for one in answer.files] == [False, True]


# Permissions


@pytest.mark.row("E-133", "E-616")
@pytest.mark.parametrize(
    ("config", "own", "agent", "outcome"),
    [
        (None, None, None, "ran"),
        (None, Permission.Ask, None, "asked"),
        (None, Permission.Deny, AgentPermission.Auto, "denied"),
        (None, Permission.Auto, AgentPermission.Deny, "ran"),
        (None, None, AgentPermission.Deny, "denied"),
        (None, None, AgentPermission.Ask, "asked"),
        (Permission.Ask, None, None, "asked"),
        (Permission.Ask, Permission.Auto, AgentPermission.Auto, "asked"),
        (Permission.Ask, Permission.Deny, None, "denied"),
        (Permission.Deny, Permission.Auto, AgentPermission.Auto, "denied"),
        (Permission.Auto, Permission.Ask, None, "asked"),
    ],
)
def test_permissions(made: Made, config: Any, own: Any, agent: Any, outcome: str) -> None:
    asked: list[AgentToolApproval] = []

    def approve(about: AgentToolApproval) -> AgentToolApprovalDecision:
        asked.append(about)
        return AgentToolApprovalDecision.deny("not now")

    runner = made(
        codes("print(1)"), code_execution_config=CodeExecutionConfig(timeout_secs=20, permission=config)
    )
    fields = {"code_execution_permission": own, "agent_permission": agent, "agent_approval_callback": approve}
    told = run(runner, **fields)
    assert told == {"ran": "1", "asked": "denied: not now", "denied": "denied: not allowed"}[outcome]
    assert len(asked) == (outcome == "asked") and (pids(runner) != []) == (outcome == "ran")
    if asked:
        assert (asked[0].tool.source, asked[0].tool.kind) == (
            AgentToolSource.BuiltIn,
            AgentToolKind.CodeExecution,
        )
        assert asked[0].code == "print(1)" and asked[0].arguments() == {"code": "print(1)"}


@pytest.mark.row("E-617")
def test_the_callback_of_code(made: Made) -> None:
    heard: list[dict[str, object]] = []
    answers: list[Any] = [True, False, "yes", RuntimeError("no")]

    def approve(about: dict[str, object]) -> bool:
        heard.append(about)
        given = answers[len(heard) - 1]
        if isinstance(given, Exception):
            raise given
        return given  # type: ignore[no-any-return]

    config = CodeExecutionConfig(timeout_secs=20, permission=Permission.Ask, approval_callback=approve)
    schema = json.dumps({"type": "function", "function": {"name": "open"}})
    plays = codes("print(1)") | {"open": plays_of(("open", {}))["hi"]}
    runner = made(plays, code_execution_config=config, tool_callbacks={"open": lambda *_: "opened"})
    told = [run(runner, session_id="s") for _ in answers]
    assert [one == "1" for one in told] == [True, False, False, False]
    assert heard[0]["code"] == "print(1)" and heard[0]["session_id"] == "s" and heard[0]["round"] == 1
    assert (heard[0]["tool"], heard[0]["arguments"]) == ("execute_python", {"code": "print(1)"})
    own = {"agent_approval_callback": lambda about: True}
    assert run(runner, **own) == "1" and len(heard) == 4  # the callback of the request wins
    ask = {"agent_permission": AgentPermission.Ask, "tool_schemas": [schema]}
    assert results(chat(runner, user("open"), **ask))[0].startswith("denied") and len(heard) == 4


# Threads and cancellation


def test_sessions_on_threads(made: Made) -> None:
    plays = codes("import os; x = os.urandom(8).hex(); print(x)") | {"then": codes("print(x)")["hi"]}
    runner = made(plays, code_execution_config=CONFIG)
    told: list[list[str]] = []

    def play(name: str) -> None:
        fields: dict[str, Any] = {"enable_code_execution": True, "session_id": name}
        told.append([results(chat(runner, said, **fields))[0] for said in (HI, user("then"))])

    threads = [threading.Thread(target=play, args=(f"s{at}",)) for at in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(first == second for first, second in told) and len({first for first, _ in told}) == 4


def test_a_stream_that_is_closed_while_code_runs(made: Made) -> None:
    runner = made(
        codes("import time; time.sleep(60)"), code_execution_config=CodeExecutionConfig(timeout_secs=90)
    )
    with stream(runner, HI, enable_code_execution=True, session_id="s"):
        running = started(runner)
    assert gone(running) and runner.list_session_ids() == []


@pytest.mark.parametrize("drop", [False, True])
def test_a_runner_that_ends_while_code_runs(engine: sotto.Engine, drop: bool) -> None:
    """Closing it ends the process, and so the call; without a reference to it, its processes end, too."""
    engine.load_model("npc", options=options(codes("import time; time.sleep(60)")))
    config = CodeExecutionConfig(timeout_secs=90)
    runner = Runner(Which.GGUF("npc", "x.gguf"), engine=engine, code_execution_config=config)
    if drop:
        assert runner._tools.code is not None
        runner._tools.code._sandbox.run("1")
        (running,) = pids(runner)
        del runner
        gc.collect()
        assert gone(running)
        return
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.append(run(runner)))
    thread.start()
    running = started(runner)
    runner.close()
    thread.join(20)
    assert gone(running) and not thread.is_alive() and told[0].startswith("error: ")
    with pytest.raises(RunnerError, match="closed"):
        chat(runner, HI)
    runner.close()
