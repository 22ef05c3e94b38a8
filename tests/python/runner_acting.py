"""What tests of the tools that a `Runner` brings have in common: runners on the scripted backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sotto
from agent_script import Deltas, call, calls, options, says
from runner_house import chat
from runner_script import HI
from sotto.runner import AgenticToolCallRecord, ChatCompletionResponse, Runner, Which

Made = Callable[..., Runner]


@contextmanager
def runners(engine: sotto.Engine) -> Iterator[Made]:
    """Makes runners whose model has the plays that they are given."""
    made: list[Runner] = []

    def make(plays: dict[str, list[Deltas]], **fields: Any) -> Runner:
        if engine.model_is_loaded("npc"):
            engine.unload_model("npc")
        engine.load_model("npc", options=options(plays))
        made.append(Runner(Which.GGUF("npc", "x.gguf"), engine=engine, **fields))
        return made[-1]

    yield make
    for one in made:
        one.close()
    assert engine.sessions() == {}


def plays_of(*rounds: tuple[str, Any]) -> dict[str, list[Deltas]]:
    """The user says "hi", and the model calls a tool in each round, and then speaks."""
    return {"hi": [*(calls(call(name, arguments)) for name, arguments in rounds), says("Well.")]}


def records(answer: ChatCompletionResponse) -> list[AgenticToolCallRecord]:
    """The calls of an answer."""
    assert answer.choices[0].message.content == "Well." and answer.agentic_tool_calls is not None
    return answer.agentic_tool_calls


def results(answer: ChatCompletionResponse) -> list[str]:
    """The results of the calls of an answer."""
    return [one.result_content for one in records(answer)]


def codes(*given: str) -> dict[str, list[Deltas]]:
    """The user says "hi", and the model runs these codes, one in each round."""
    return plays_of(*(("execute_python", {"code": one}) for one in given))


def run(runner: Runner, **fields: Any) -> str:
    """The result of the first call of a chat that may run code."""
    return results(chat(runner, HI, enable_code_execution=True, **fields))[0]
