"""What tests of the tools of a `Runner` have in common: schemas, plays of the scripted backend, messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import sotto
from agent_script import call, calls, options, says
from sotto.runner import Runner, Which

GATE = {"type": "object", "properties": {"gate": {"enum": ["north", "south"]}}, "required": ["gate"]}
OPEN, RING = (
    json.dumps({"type": "function", "function": {"name": name, "parameters": parameters}})
    for name, parameters in (("open", GATE), ("ring", {"type": "object", "properties": {}}))
)
PLAYS = {
    "hi": [calls(call("open", {"gate": "north"})), says("It is open.")],
    "both": [calls(call("open", {"gate": "north"}), call("ring", {}, 1)), says("Done.")],
    "twice": [
        calls(call("open", {"gate": "north"})),
        calls(call("open", {"gate": "south"}, call_id="c9")),
        says("Both."),
    ],
    "again": [says("It was open.")],
}
HI = [{"role": "user", "content": "hi"}]


def user(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def scripted_runners(engine: sotto.Engine) -> Iterator[Callable[..., Runner]]:
    """Yields a function that makes runners on the scripted backend, and closes them afterwards."""
    engine.load_model("npc", options=options(PLAYS))
    runners: list[Runner] = []

    def make(**callbacks: Callable[[str, dict[str, Any]], Any]) -> Runner:
        runners.append(Runner(Which.GGUF("npc", "x.gguf"), tool_callbacks=callbacks, engine=engine))
        return runners[-1]

    yield make
    for one in runners:
        one.close()
    assert engine.sessions() == {}
