"""What tests of the tools of a `Runner` have in common: schemas, plays of the scripted backend, messages."""

from __future__ import annotations

import json
from typing import Any

from agent_script import call, calls, says

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
