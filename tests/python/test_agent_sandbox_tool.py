"""`sotto.agent.PythonSandbox` as a tool of agents: permissions, cancellation, and what the model reads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

import sotto
import sotto.aio
from agent_script import call, calls, options, play, says
from sandboxes import LINUX, SLEEP, ask, gone, pid_of, without_process
from sotto.agent import (
    Agent,
    ApprovalRequest,
    AuditLog,
    Permissions,
    PythonSandbox,
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


def test_a_model_runs_code(engine: sotto.Engine, sandbox: PythonSandbox) -> None:
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    audit = AuditLog()
    codes = ("x = 20", "open('f', 'w').write('a'); x + 2", "1 / 0", "x")
    answer = ask(engine, sandbox, *codes, permissions=Permissions(approve=approve), audit=audit)
    (file,) = sandbox.files("gate")
    results = [one.result for one in answer.calls]
    assert results[:2] == ["done", f"22\n[file f: 1 bytes, id {file.id}]"] and results[3] == "20"
    assert "ZeroDivisionError" in results[2] and {one.status for one in answer.calls} == {"done"}
    assert [one.arguments["code"] for one in asked] == list(codes)
    assert {(one.tool, one.kind, one.source, one.session_id) for one in asked} == {
        ("python", "code_execution", "sandbox", "gate")
    }


def test_code_needs_an_approval(engine: sotto.Engine, sandbox: PythonSandbox) -> None:
    (made,) = ask(engine, sandbox, "1", permissions=Permissions()).calls
    assert made.status == "denied" and made.permission == "ask" and "gate" not in sandbox._sessions
    (made,) = ask(engine, sandbox, "1", permissions=Permissions(kinds={"code_execution": "deny"})).calls
    assert made.status == "denied"
    with PythonSandbox(permission="auto", name="calculate", kind="sums", time_limit=3) as other:
        (tool,) = other.tools
        assert (tool.name, tool.kind, tool.permission, tool.options["time_limit"]) == (
            "calculate",
            "sums",
            "auto",
            3,
        )


def test_a_model_reads_why_its_code_was_ended(engine: sotto.Engine) -> None:
    with PythonSandbox(SandboxLimits(cpu_time=0.2)) as sandbox:
        answer = ask(
            engine, sandbox, "x = 1", "print('begun')\nwhile True: pass", "x", "import os\nos._exit(4)"
        )
        first, loop, after, ended = answer.calls
        assert (first.status, loop.status, after.status, ended.status) == ("done", "failed", "done", "failed")
        assert "more than 0.2 s of processor time" in loop.result and "are gone. Output: begun" in loop.result
        assert "NameError" in after.result and "exit status 4" in ended.result


def test_arguments_are_those_of_the_schema(engine: sotto.Engine, sandbox: PythonSandbox) -> None:
    assert sandbox.tools[0].parameters == {
        "type": "object",
        "properties": {"code": {"type": "string", "description": "Python code."}},
        "required": ["code"],
        "additionalProperties": False,
    }
    (made,) = ask(engine, sandbox, "x" * 40_000).calls
    assert made.status == "failed" and "expected at most 32768 bytes" in made.result


def test_a_time_limit_of_the_agent_ends_the_process(engine: sotto.Engine) -> None:
    with PythonSandbox(SandboxLimits(time_limit=60), time_limit=1.5) as sandbox:
        sandbox.run("x = 1", "gate")
        pid = pid_of(sandbox, "gate")
        slow, after = ask(engine, sandbox, SLEEP, "'x' in globals()").calls
        assert slow.status == "timed_out" and slow.seconds < 20 and gone(pid, 1)
        why = "an earlier call was cancelled, which ended the Python process"
        assert after.result == f"[{why}: earlier variables are gone]\nFalse"


def test_a_cancelled_turn_ends_the_process(engine: sotto.Engine, sandbox: PythonSandbox) -> None:
    plays = {
        "hi": [calls(call("python", {"code": SLEEP}))],
        "on": [calls(call("python", {"code": "1"})), says("Yes.")],
    }
    engine.load_model("npc", options=options(plays))
    with engine.session("gate", model="npc") as session:
        agent = Agent(session, [sandbox], permissions=Permissions("auto", tools={"python": "auto"}))
        with agent.stream("hi") as events:
            for event in events:
                if getattr(event, "status", "") == "running":
                    break
            until = time.monotonic() + 20
            while not ("gate" in sandbox._sessions and pid_of(sandbox, "gate")) and time.monotonic() < until:
                time.sleep(0.01)
            pid = pid_of(sandbox, "gate")
        assert pid and gone(pid, 1)
        (made,) = agent.say("on").calls
        assert made.result.startswith("[an earlier call was cancelled") and made.result.endswith("\n1")


def test_an_agent_on_asyncio() -> None:
    plays = {"hi": [calls(call("python", {"code": "6 * 7"})), calls(call("python", {"code": SLEEP}))]}

    async def test(engine: sotto.aio.Engine) -> None:
        with PythonSandbox(permission="auto") as sandbox:
            async with await engine.session("gate", model="npc") as session:
                agent = aio.Agent(session, [sandbox])
                results = []
                events = agent.stream("hi")

                async def listen() -> None:
                    async for event in events:
                        if getattr(event, "status", "") == "done":
                            results.append(event.result)
                        elif getattr(event, "arguments", {}).get("code") == SLEEP:
                            raise TimeoutError

                with pytest.raises(TimeoutError):
                    await listen()
                while sandbox._sessions["gate"].idle:
                    await asyncio.sleep(0.01)
                pid = pid_of(sandbox, "gate")
                await events.aclose()
                assert results == ["42"] and pid and gone(pid, 1)
                assert [one.status for one in events.answer.calls] == ["done", "cancelled"]

    play(plays, test)


def test_concurrent_calls_of_a_round(engine: sotto.Engine, sandbox: PythonSandbox) -> None:
    many = [call("python", {"code": f"{n} * 2"}, n) for n in range(6)]
    engine.load_model("npc", options=options({"hi": [calls(*many), says("Well.")]}))
    with engine.session("gate", model="npc") as session:
        answer = Agent(
            session, [sandbox], permissions=Permissions(approve=lambda _: True), concurrent=True
        ).say("hi")
    assert [one.result for one in answer.calls] == ["0", "2", "4", "6", "8", "10"]
