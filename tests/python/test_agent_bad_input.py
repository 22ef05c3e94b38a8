"""What tools, callbacks and models may not do, and what a turn makes of it."""

from __future__ import annotations

import dataclasses
import enum
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from agent_script import call, calls, options, says
from conftest import ENVIRONMENT
from sotto.agent import Agent, Call, Tool, tool


@pytest.fixture
def made(engine: sotto.Engine) -> Callable[..., Call]:
    """The record of one call of a function, by a model that follows a script."""

    def make(function: Any, arguments: Any = None, name: str = "act", **rules: Any) -> Call:
        plays = {"hi": [calls(call(name, arguments)), says("Well.")]}
        engine.load_model("npc", options=options(plays))
        given = function if isinstance(function, Tool) else tool(name="act")(function)
        with engine.session(model="npc") as session:
            answer = Agent(session, [given], **rules).say("hi")
            assert answer.text == "Well."  # whatever the tool did, the turn goes on
            (one,) = answer.calls
            assert one.result in session.messages[2]["content"]
        engine.unload_model("npc")
        return one

    return make


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Found:
    coins: int
    colour: Colour


def endless() -> Iterator[int]:
    yield from iter(int, 1)


def in_itself() -> Any:
    found: dict[str, Any] = {}
    found["found"] = found
    return found


def itself() -> Any:
    return itself


def deep() -> Any:
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


# Results


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "done"),
        ("", ""),
        ("open", "open"),
        (3, "3"),
        (True, "true"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        ((1, 2), "[1, 2]"),
        ({2, 1}, "[1, 2]"),
        (Colour.RED, '"red"'),
        (Found(3, Colour.RED), '{"coins": 3, "colour": "red"}'),
        ("夜\x00\ud800", "夜\x00?"),
    ],
)
def test_results_become_text(made: Callable[..., Call], value: Any, text: str) -> None:
    one = made(lambda: value)
    assert (one.status, one.result, one.truncated) == ("done", text, False)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda: b"open", "expected text or JSON, not bytes"),
        (lambda: bytearray(9), "expected text or JSON, not bytearray"),
        (itself, "a function has no JSON"),
        (in_itself, "Circular reference"),
        (deep, "recursion"),
        (endless, "a generator has no JSON"),
        (lambda: float("nan"), "not JSON compliant"),
        (lambda: object(), "a object has no JSON"),
        (lambda: Found, "a type has no JSON"),
        (lambda: {b"a": 1}, "keys must be"),
    ],
)
def test_results_that_are_no_text(made: Callable[..., Call], function: Any, why: str) -> None:
    one = made(function)
    assert one.status == "failed" and one.result.startswith("error: invalid result: ")
    assert why in one.result and one.reason in one.result


def test_ten_megabytes_are_cut(made: Callable[..., Call]) -> None:
    one = made(lambda: "a" * 10_000_000, max_result=1000)
    assert one.status == "done" and one.truncated and len(one.result) == 1000
    assert one.result.endswith("aaa [cut: 10000000 characters]")
    one = made(lambda: ["b" * 100] * 100_000)
    assert one.truncated and len(one.result) == 8192


@pytest.mark.parametrize(
    "error",
    [
        ValueError("the gate\nis stuck"),
        SystemExit(3),
        KeyboardInterrupt(),
        StopIteration(),
        GeneratorExit(),
        RecursionError(),
        MemoryError(),
        type("Mute", (Exception,), {"__str__": lambda self: 1 / 0})(),
        ValueError("x" * 10_000_000),
    ],
)
def test_tools_that_raise(made: Callable[..., Call], error: BaseException) -> None:
    def fail() -> None:
        raise error

    async def fail_async() -> None:
        raise error

    for function in (fail, fail_async):
        one = made(function)
        # a coroutine cannot raise StopIteration
        names = (type(error).__name__, "RuntimeError")
        assert one.status == "failed" and one.result.startswith(tuple(f"error: {name}" for name in names))
        assert len(one.result) < 500


def test_a_coroutine_that_cancels_itself_fails(made: Callable[..., Call]) -> None:
    import asyncio

    async def cancel() -> None:
        raise asyncio.CancelledError

    assert made(cancel).status == "failed"


def test_a_function_that_returns_a_coroutine_is_awaited(made: Callable[..., Call]) -> None:
    async def later() -> str:
        return "later"

    assert made(lambda: later()).result == "later"


# Calls


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("[1]", "invalid arguments: expected a JSON object"),
        ('"gate"', "invalid arguments: expected a JSON object"),
        ("3", "invalid arguments: expected a JSON object"),
        ("null", "invalid arguments: expected a JSON object"),
        ('{"gate": "nor', "invalid arguments: expected a JSON object"),
        ("[" * 100_000, "invalid arguments: expected a JSON object"),
        ("{}", "missing arguments.gate"),
        ('{"gate": 3}', "invalid arguments.gate '3': expected a string"),
        ('{"gate": "a", "key": 1}', "invalid field 'key' of arguments: expected gate"),
        ('{"gate": null}', "invalid arguments.gate 'None': expected a string"),
    ],
)
def test_arguments_that_are_not_those_of_the_tool(
    made: Callable[..., Call], arguments: str, why: str
) -> None:
    ran: list[str] = []

    def act(gate: str) -> None:
        ran.append(gate)

    one = made(act, arguments)
    assert (one.status, one.reason, one.result) == ("failed", why, f"error: {why}") and not ran
    assert one.permission is None and one.arguments_json == arguments


def test_no_arguments_are_an_empty_object(made: Callable[..., Call]) -> None:
    assert made(lambda: "open", "").result == "open"


def test_a_class_of_the_application_that_refuses_its_values(made: Callable[..., Call]) -> None:
    def act(amount: Amount) -> None: ...

    one = made(act, {"amount": {"coins": -1}})
    assert one.status == "failed" and one.reason == "invalid arguments: ValueError: no debts"


@dataclasses.dataclass
class Amount:
    coins: int

    def __post_init__(self) -> None:
        if self.coins < 0:
            raise ValueError("no debts")


@pytest.mark.parametrize("name", ["nothing", "act ", "ACT", "", "a" * 10_000, "act\nact"])
def test_tools_that_are_unknown(made: Callable[..., Call], name: str) -> None:
    one = made(lambda: None, name=name or " ")
    assert one.status == "failed" and one.reason.startswith("unknown tool '") and len(one.result) < 200
    assert one.reason.endswith("expected act")


def test_arguments_of_schemas_are_checked(made: Callable[..., Call]) -> None:
    parameters = {"type": "object", "properties": {"gate": {"enum": ["north"]}}, "required": ["gate"]}
    given = Tool.from_schema(
        {"type": "function", "function": {"name": "act", "parameters": parameters}}, lambda one: one["gate"]
    )
    assert made(given, {"gate": "north"}).result == "north"
    one = made(given, {"gate": "west"})
    assert one.status == "failed" and one.reason == "invalid arguments.gate: 'west' is not one of ['north']"


# The end of the interpreter

_ENDING = """
import sys, threading, time
sys.path.insert(0, {folder!r})
import sotto
from agent_script import call, calls, options, says
from sotto.agent import Agent, tool

began = threading.Event()

@tool
{asynchronous}def act() -> None:
    began.set()
    {sleep}

engine = sotto.Engine(module_dir={scripted!r}, mode="prioritize_compute")
engine.load_model("npc", options=options({{"hi": [calls(call("act")), says("Well.")]}}))
agent = Agent(engine.session(model="npc"), [act])
{start}
assert began.wait(30)
print("ends", flush=True)
{end}
"""


@pytest.mark.parametrize("kind", ["function", "coroutine"])
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("threading.Thread(target=agent.say, args=('hi',), daemon=True).start()", ""),
        ("threading.Thread(target=agent.say, args=('hi',), daemon=True).start()", "sys.exit(0)"),
        ("stream = agent.stream('hi')", "engine.close()"),
        ("stream = agent.stream('hi')", "stream.close()"),
        ("stream = agent.stream('hi')", "del stream, agent, engine"),
    ],
)
def test_the_interpreter_may_end_in_a_call(kind: str, start: str, end: str) -> None:
    asynchronous = kind == "coroutine"
    code = _ENDING.format(
        folder=str(Path(__file__).parent),
        scripted=ENVIRONMENT["SOTTO_TEST_SCRIPTED"],
        asynchronous="async " if asynchronous else "",
        sleep="import asyncio; await asyncio.sleep(600)" if asynchronous else "time.sleep(600)",
        start=start,
        end=end,
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and done.stdout == "ends\n", done.stderr
    assert "Traceback" not in done.stderr and "never" not in done.stderr, done.stderr


def test_a_session_of_another_process_is_refused() -> None:
    code = """
import os, sys
sys.path.insert(0, {folder!r})
import sotto
from agent_script import options, says
from sotto.agent import Agent

def talk():
    with sotto.Engine(module_dir={scripted!r}, mode="prioritize_compute") as engine:
        engine.load_model("npc", options=options({{"hi": [says("Well.")]}}))
        return Agent(engine.session(model="npc")).say("hi").text

engine = sotto.Engine(module_dir={scripted!r}, mode="prioritize_compute")
engine.load_model("npc", options=options({{"hi": [says("Well.")]}}))
agent = Agent(engine.session(model="npc"))
assert agent.say("hi").text == "Well."
child = os.fork()
if child == 0:
    try:
        agent.say("hi")
    except sotto.SottoError as error:
        os._exit(7 if "before the fork" in str(error) and talk() == "Well." else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), agent.say("hi").text)
"""
    filled = code.format(folder=str(Path(__file__).parent), scripted=ENVIRONMENT["SOTTO_TEST_SCRIPTED"])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", filled],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "7 Well.\n", done.stdout + done.stderr
