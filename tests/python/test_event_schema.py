"""Every event of a request matches docs/pages/reference/schemas/events.json."""

from __future__ import annotations

import json
from typing import Any, get_args

import jsonschema
import pytest

import sotto
from conftest import ROOT
from results import check
from sotto.event import EventKind

SCHEMA = json.loads((ROOT / "docs/pages/reference/schemas/events.json").read_text())
TALK = {"model": "tools", "messages": [{"role": "user", "content": "who guards the gate"}], "max_tokens": 40}
SEEDED = {**TALK, "temperature": 1, "seed": 2}
DOOR = {
    "name": "open",
    "parameters": {"type": "object", "properties": {"wide": {"type": "boolean"}}, "required": ["wide"]},
}
RESULTS = {"tool_call": "tool_call", "usage": "chat_completion_chunk", "request_done": "chat_completion"}


def collect(engine: sotto.Engine, op: Any, body: dict[str, Any], chunks: bool = False) -> list[sotto.Event]:
    """Submits a request and returns its events, each checked against the schema."""
    request, events = engine.submit(op, body, user=7, chunks=chunks), []
    while not events or events[-1].kind != "request_done":
        engine.wait()
        events += engine.events()
    for event in events:
        told = {**event._asdict(), "status": int(event.status)}
        assert told.pop("data") == b""
        reference = {**SCHEMA, "$ref": f"#/$defs/{event.kind}"}
        jsonschema.Draft202012Validator(reference).validate(told)
        assert told.keys() == SCHEMA["$defs"][event.kind]["properties"].keys()
        assert (event.request, event.user) == (request, 7)
        if event.json:
            check("chat_completion_chunk" if chunks else RESULTS[event.kind], event.json)
    return events


def test_the_schema_is_valid_and_has_every_kind() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["$defs"]) == set(get_args(EventKind))


@pytest.mark.real
@pytest.mark.parametrize("chunks", [False, True])
def test_events_of_an_answer_match(tiny: sotto.Engine, chunks: bool) -> None:
    usage = {"stream": True, "stream_options": {"include_usage": True}, "n": 2}
    events = collect(tiny, "chat", {**SEEDED, **usage}, chunks)
    usage_told = {"usage"} if chunks else set()
    assert {event.kind for event in events} == {
        "accepted",
        "text",
        "choice_done",
        "request_done",
    } | usage_told
    assert {event.index for event in events if event.kind == "choice_done"} == {0, 1}


@pytest.mark.real
@pytest.mark.parametrize("chunks", [False, True])
def test_events_of_tool_calls_match(tiny: sotto.Engine, chunks: bool) -> None:
    marks = json.loads(tiny.tokenize({"model": "tools", "content": "<tool_call>\n"}))["tokens"]
    request = {
        **SEEDED,
        "tools": [{"type": "function", "function": DOOR}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "chat_template_kwargs": {"enable_thinking": False},
        "logit_bias": dict.fromkeys(map(str, marks), 10),  # random weights would rather speak
        "max_tokens": 300,
    }
    assert "tool_call" in {event.kind for event in collect(tiny, "chat", request, chunks)}


@pytest.mark.real
def test_events_of_reasoning_match(tiny: sotto.Engine) -> None:
    (mark,) = json.loads(tiny.tokenize({"model": "tools", "content": "<think>"}))["tokens"]
    request = {
        **SEEDED,
        "grammar": 'root ::= "<think>" [a-z]* "</think>" [a-z]{4,9}',
        "reasoning_budget_tokens": 8,
        "chat_template_kwargs": {"enable_thinking": True},
        "logit_bias": {str(mark): 50},
    }
    assert {"reasoning", "text"} <= {event.kind for event in collect(tiny, "chat", request)}


def test_events_of_a_failure_match(npc: sotto.Engine) -> None:
    (refused,) = collect(npc, "chat", {**TALK, "temperature": "hot"})
    assert refused.kind == "request_done" and refused.status < 0 and refused.error
