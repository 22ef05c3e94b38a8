"""OpenAI's Responses API: conversations that the engine stores, a response after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import sotto
from made_backend import have
from results import check
from sotto.backends import Model, ModelInfo, Request

CALL = {"type": "function_call", "call_id": "c1", "name": "open_door", "arguments": '{"wide": true}'}
TOOL = {
    "type": "function",
    "name": "open_door",
    "description": "Opens it.",
    "parameters": {"type": "object", "properties": {"wide": {"type": "boolean"}}},
    "strict": True,
}


class Noted(Model):
    """Notes the bodies of its requests, and says how many messages it got."""

    info = ModelInfo(streams=4)

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    def chat(self, request: Request) -> Iterator[str]:
        self.bodies.append(request.body)
        if request.text == "fail":
            raise RuntimeError("the model fails")
        yield "answer "
        yield str(len(self.bodies))


@pytest.fixture
def noted(engine: sotto.Engine) -> tuple[sotto.Engine, Noted]:
    model = Noted()
    have(engine, model)
    return engine, model


def ask(engine: sotto.Engine, said: Any, model: str = "npc", **fields: Any) -> dict[str, Any]:
    """A response, checked against its schema."""
    response: dict[str, Any] = check(
        "response", engine.llm_respond({"model": model, "input": said, **fields})
    )
    return response


def text_of(response: dict[str, Any]) -> str:
    """What the model said."""
    return "".join(
        part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"]
    )


def lines(model: Noted) -> list[str]:
    """The messages that the model got last, as "role: content"."""
    return [f"{one['role']}: {one['content']}" for one in model.bodies[-1]["messages"]]


@pytest.mark.row("A-098", "A-100", "A-101", "A-105", "A-106", "A-107", "A-108", "A-109", "A-110")
def test_a_response(npc: sotto.Engine) -> None:
    response = ask(npc, "hello there")
    assert re.fullmatch(r"resp-[0-9a-f]{32}", response["id"]) and response["object"] == "response"
    assert response["model"] == "npc" and response["store"] is True
    (item,) = response["output"]
    assert item["type"] == "message" and item["role"] == "assistant" and item["status"] == "completed"
    (part,) = item["content"]
    assert part["type"] == "output_text" and part["text"] == "hello there"
    usage = response["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (2, 2, 4)
    assert response["status"] == "completed" and response["incomplete_details"] is None
    assert ask(npc, "hello there")["id"] != response["id"]


@pytest.mark.row("A-113")
def test_the_references_example(npc: sotto.Engine) -> None:
    engine = npc
    request = json.dumps(
        {
            "model": "npc",
            "input": "What is 2+2?",
            "instructions": "You are a math tutor.",
            "max_output_tokens": 100,
            "temperature": 0.7,
        }
    )
    response = json.loads(engine.llm_respond(request))
    assert response["output"][0]["content"][0]["text"] == "What is 2+2?"


@pytest.mark.row("A-099", "A-102")
def test_a_conversation_goes_on_without_its_instructions(noted: tuple[sotto.Engine, Noted]) -> None:
    engine, model = noted
    first = ask(engine, "one", "m", instructions="Be short.")
    assert lines(model) == ["system: Be short.", "user: one"]
    second = ask(engine, "two", "m", previous_response_id=first["id"])
    assert lines(model) == ["user: one", "assistant: answer 1", "user: two"]
    assert second["previous_response_id"] == first["id"] and second["instructions"] is None
    fork = ask(engine, "other", "m", previous_response_id=first["id"], instructions="Be long.")
    assert lines(model) == ["system: Be long.", "user: one", "assistant: answer 1", "user: other"]
    ask(engine, "three", "m", previous_response_id=second["id"])
    assert lines(model)[-2:] == ["assistant: answer 2", "user: three"] and len(lines(model)) == 5
    ask(engine, "four", "m", previous_response_id=fork["id"])
    assert lines(model)[2:] == ["user: other", "assistant: answer 3", "user: four"]
    ask(engine, "new", "m")
    assert lines(model) == ["user: new"]


@pytest.mark.row("A-101")
def test_input_may_be_items(noted: tuple[sotto.Engine, Noted]) -> None:
    engine, model = noted
    first = ask(engine, [{"role": "system", "content": "You guard."}, {"role": "user", "content": "hi"}], "m")
    ask(
        engine,
        [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "open"}]},
            {"type": "reasoning", "summary": [], "id": "rs-1"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "well"}]},
            CALL,
            {"type": "function_call_output", "call_id": "c1", "output": "it is open"},
        ],
        "m",
        previous_response_id=first["id"],
        instructions="Be kind.",
    )
    got = model.bodies[-1]["messages"]
    assert [one["role"] for one in got] == ["system", "user", "assistant", "user", "assistant", "tool"]
    assert got[0]["content"] == "Be kind.\n\nYou guard." and got[3]["content"] == "open"
    assert got[4]["content"] == "well" and got[5] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": "it is open",
    }
    assert got[4]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "open_door", "arguments": '{"wide": true}'}}
    ]


@pytest.mark.row("A-103", "A-104")
def test_fields_reach_the_model_as_those_of_a_chat(noted: tuple[sotto.Engine, Noted]) -> None:
    engine, model = noted
    schema = {"type": "object", "properties": {"b": {}, "a": {}}}
    fields: dict[str, Any] = {
        "max_output_tokens": 1,
        "temperature": 0.5,
        "top_p": 0.25,
        "seed": 3,
        "reasoning": {"effort": "low"},
        "truncation": "disabled",
        "metadata": {"quest": "bell"},
        "user": "someone",
    }
    response = ask(engine, "hi", "m", **fields)
    body = model.bodies[-1]
    assert set(body) == {
        *("messages", "model", "temperature", "top_p", "seed", "reasoning_effort", "context_overflow"),
        "max_tokens",
    }
    assert (body["max_tokens"], body["context_overflow"], body["reasoning_effort"]) == (1, "error", "low")
    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert response["usage"]["output_tokens"] == 1
    assert response["sotto"] == {"ignored_fields": ["user"]}
    for name in ("max_output_tokens", "temperature", "top_p", "metadata", "truncation"):
        assert response[name] == fields[name]
    with pytest.raises(sotto.SottoError, match=r"text\.format: backend 'made' does not support"):
        ask(engine, "hi", "m", text={"format": {"type": "json_schema", "name": "x", "schema": schema}})


def test_a_response_may_be_left_out_of_the_store(noted: tuple[sotto.Engine, Noted]) -> None:
    engine, model = noted
    kept = ask(engine, "one", "m")
    left_out = ask(engine, "two", "m", previous_response_id=kept["id"], store=False)
    assert left_out["store"] is False and len(lines(model)) == 3
    with pytest.raises(ValueError, match=f"invalid previous_response_id '{left_out['id']}'"):
        ask(engine, "three", "m", previous_response_id=left_out["id"])
    with pytest.raises(sotto.InferenceError, match="the model fails"):
        ask(engine, "fail", "m")


def test_the_least_recently_used_responses_are_dropped(npc: sotto.Engine) -> None:
    first = ask(npc, "first")["id"]
    second = ask(npc, "second")["id"]
    text = "x" * (1 << 20)
    for _ in range(31):
        ask(npc, text, max_output_tokens=1, store=True)  # input and answer: 2 MB each
        ask(npc, "again", previous_response_id=first, store=False)
    assert ask(npc, "and again", previous_response_id=first)
    ask(npc, text, max_output_tokens=1)
    with pytest.raises(ValueError, match=r"expected the id of a stored response \(it may have been dropped"):
        ask(npc, "again", previous_response_id=second)
    assert ask(npc, "and again", previous_response_id=first)


@pytest.mark.row("A-111", "A-112")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"input": None}, "missing input: expected a string, or an array"),
        ({"input": 3}, "invalid input '3': expected a string, or an array of 1 to 65,536 items"),
        ({"input": []}, "invalid input '[]'"),
        ({"input": ["hi"]}, "invalid input[0] 'hi': expected a JSON object"),
        ({"input": [{"type": "reasoning"}]}, "expected at least one item that is not reasoning"),
        ({"input": [{"role": "boss", "content": "x"}]}, "invalid input[0].role 'boss': expected user, "),
        ({"input": [{"role": "user"}]}, "missing input[0].content"),
        ({"input": [{"role": "user", "content": 1}]}, "invalid input[0].content '1'"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file"}]}]},
            "invalid input[0].content[0].type 'input_file'",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_text", "text": 1}]}]},
            "invalid input[0].content[0].text '1': expected a string",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "http://x"}]}]},
            "invalid input[0].content[0].image_url 'http://x': expected a data URL",
        ),
        (
            {"input": [{**CALL, "arguments": "[]"}]},
            "invalid input[0].arguments '\"[]\"': expected a JSON object",
        ),
        ({"input": [{**CALL, "call_id": 1}]}, "invalid input[0].call_id '1'"),
        ({"input": [{"type": "function_call_output", "call_id": "c"}]}, "missing input[0].output"),
        ({"input": [{"type": "item_reference"}]}, "invalid input[0].type 'item_reference'"),
        ({"model": None}, "missing model"),
        ({"instructions": 1}, "invalid instructions '1'"),
        ({"previous_response_id": "resp-0"}, "invalid previous_response_id 'resp-0': expected the id of"),
        ({"previous_response_id": 7}, "invalid previous_response_id '7'"),
        ({"max_output_tokens": 0}, "invalid max_output_tokens '0': expected an integer from 1"),
        ({"temperature": "hot"}, "invalid temperature 'hot': expected a number from 0 to 100"),
        ({"store": "yes"}, "invalid store 'yes'"),
        ({"metadata": {"a": 1}}, "invalid metadata.a '1': expected a string of at most 512 bytes"),
        ({"metadata": dict.fromkeys(map(str, range(17)), "x")}, "expected at most 16 members"),
        ({"truncation": "some"}, "invalid truncation 'some'"),
        ({"reasoning": {"effort": "huge"}}, "invalid reasoning.effort 'huge'"),
        ({"reasoning": 1}, "invalid reasoning '1'"),
        ({"text": {"format": {"type": "xml"}}}, "invalid text.format.type 'xml'"),
        ({"text": {"format": {"type": "json_schema"}}}, "missing text.format.schema"),
        (
            {"text": {"format": {"type": "json_schema", "schema": 1}}},
            "invalid text.format.schema '1': expected a JSON schema",
        ),
        ({"tools": [{"type": "web_search"}]}, "invalid tools[0].type 'web_search': expected \"function\""),
        ({"tools": [{"type": "function", "name": "a b"}]}, "invalid tools[0].name 'a b': expected 1 to 64"),
        ({"tools": [TOOL, TOOL]}, "invalid tools[1].name 'open_door': expected a unique name"),
        ({"tool_choice": "required"}, "invalid tool_choice 'required'"),
        ({"tool_choice": {"type": "function", "name": "x"}}, "invalid tool_choice.name 'x'"),
        ({"instruction": "x"}, "unknown field 'instruction': did you mean \"instructions\"?"),
    ],
)
def test_bad_requests(npc: sotto.Engine, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        npc.llm_respond({"model": "npc", "input": "hi", **fields})
    with pytest.raises(ValueError, match="invalid request: expected JSON"):
        npc.llm_respond("{")


def test_the_stream_has_the_events_of_the_api(npc: sotto.Engine) -> None:
    whole = ask(npc, "one two three")
    events = [
        check("response_event", event)
        for event in npc.llm_respond_stream({"model": "npc", "input": "one two three"})
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds[:4] == ["created", "in_progress", "output_item.added", "content_part.added"]
    assert kinds[4:-4] == ["output_text.delta"] * (len(kinds) - 8)
    assert kinds[-4:] == ["output_text.done", "content_part.done", "output_item.done", "completed"]
    assert "".join(event["delta"] for event in events[4:-4]) == "one two three" == events[-4]["text"]
    assert events[0]["response"]["status"] == "in_progress" and events[0]["response"]["usage"] is None
    last = events[-1]["response"]
    assert last["id"] == events[0]["response"]["id"] and last["usage"] == whole["usage"]
    assert text_of(last) == "one two three" and last["output"][0]["id"] == events[2]["item"]["id"]
    again = ask(npc, "more", previous_response_id=last["id"])
    assert again["usage"]["input_tokens"] > 0


def test_the_stream_has_progress_and_timings_on_request(engine: sotto.Engine) -> None:
    engine.load_model("slow", options={"prompt_tokens": 40, "step_tokens": 8, "tokens": ["one ", "two"]})
    body = {"model": "slow", "input": "hi", "return_progress": True, "timings_per_token": True}
    events = [check("response_event", event) for event in engine.llm_respond_stream(body)]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    progress = [event for event in events if "prompt_progress" in event]
    assert progress and {event["type"] for event in progress} == {"response.in_progress"}
    told = [event["prompt_progress"] for event in progress]
    assert [one["processed"] for one in told] == sorted(one["processed"] for one in told)
    assert told[-1]["processed"] == told[-1]["total"] == 40
    timed = [event for event in events if event["type"] == "response.output_text.delta"]
    assert [event["timings"]["predicted_n"] for event in timed] == [1, 2]
    assert events[-1]["type"] == "response.completed" and events[-1]["timings"]["predicted_n"] == 2
    plain = [json.loads(event) for event in engine.llm_respond_stream({"model": "slow", "input": "hi"})]
    assert not any("timings" in event or "prompt_progress" in event for event in plain)


def test_calls_and_reasoning_are_items(engine: sotto.Engine) -> None:
    def call(**function: str) -> dict[str, Any]:
        return {
            "tool_calls": [{"index": 0, "function": function, **({"id": "c7"} if "name" in function else {})}]
        }

    deltas = [
        [{"reasoning_content": "Hm"}],
        [{"content": "Well."}],
        [call(name="open_door", arguments="")],
        [call(arguments='{"wide": ')],
        [call(arguments="true}")],
        [],
    ]
    script = {"tokens": ["a", "b", "c", "d", "e"], "deltas": deltas, "constrainable": True}
    engine.load_model("npc", options=script)
    body = {"model": "npc", "input": "open the door", "tools": [TOOL]}
    response = check("response", engine.llm_respond(body))
    thought, said, called = response["output"]
    assert thought["type"] == "reasoning" and thought["content"] == [{"type": "reasoning_text", "text": "Hm"}]
    assert said["content"][0]["text"] == "Well."
    assert (called["type"], called["name"], called["call_id"]) == ("function_call", "open_door", "c7")
    assert json.loads(called["arguments"]) == {"wide": True} and called["status"] == "completed"
    events = [check("response_event", event) for event in engine.llm_respond_stream(body)]
    kinds = [event["type"] for event in events]
    assert kinds.count("response.function_call_arguments.delta") == 2
    assert kinds.count("response.reasoning_text.delta") == kinds.count("response.reasoning_text.done") == 1
    assert kinds.count("response.output_item.added") == kinds.count("response.output_item.done") == 3
    streamed = events[-1]["response"]["output"]
    assert [{**item, "id": ""} for item in streamed] == [{**item, "id": ""} for item in response["output"]]
    cut = check("response", engine.llm_respond({**body, "max_output_tokens": 4}))
    assert cut["status"] == "incomplete" and cut["output"][-1]["status"] == "incomplete"
    read = engine.respond("open the door", tools=[TOOL])
    assert (read.text, read.reasoning, read.status) == ("Well.", "Hm", "completed")
    assert read.tool_calls == (sotto.ToolCall("open_door", {"wide": True}, "c7"),)
    assert engine.respond("open the door", tools=[TOOL], max_output_tokens=4).tool_calls == ()


def test_responses_as_objects(noted: tuple[sotto.Engine, Noted]) -> None:
    engine, model = noted
    first = engine.respond("one", instructions="Be short.", max_output_tokens=9)
    assert (first.text, first.status) == ("answer 1", "completed") and first.usage.completion_tokens == 2
    engine.respond([{"role": "user", "content": "two"}], previous=first, priority="foreground")
    assert lines(model) == ["user: one", "assistant: answer 1", "user: two"]
    engine.respond("two", previous=first.id)
    assert lines(model) == ["user: one", "assistant: answer 1", "user: two"]
    with pytest.raises(TypeError, match="invalid said"):
        engine.respond(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="use llm_respond_stream"):
        engine.llm_respond({"model": "m", "input": "x", "stream": True})


@pytest.mark.real
@pytest.mark.row("A-099", "A-104", "A-110")
def test_the_house_model_reuses_the_prefix(real_engine: sotto.Engine) -> None:
    def count(messages: list[dict[str, str]]) -> int:
        prompt = real_engine.apply_template({"model": "sotto/house", "messages": messages})
        said = {"model": "sotto/house", "content": json.loads(prompt)["prompt"]}
        return len(json.loads(real_engine.tokenize(said))["tokens"])

    fields: dict[str, Any] = {"max_output_tokens": 24, "temperature": 0}
    first = ask(real_engine, "Who are you?", "sotto/house", **fields)
    assert first["usage"]["input_tokens"] == count([{"role": "user", "content": "Who are you?"}])
    assert (
        ask(real_engine, "Who are you?", "sotto/house", **fields)["output"][0]["content"]
        == (first["output"][0]["content"])
    )
    second = ask(real_engine, "Why?", "sotto/house", previous_response_id=first["id"], **fields)
    told = [
        {"role": "user", "content": "Who are you?"},
        {"role": "assistant", "content": text_of(first)},
        {"role": "user", "content": "Why?"},
    ]
    assert second["usage"]["input_tokens"] == count(told)
    assert second["usage"]["input_tokens_details"]["cached_tokens"] >= first["usage"]["input_tokens"]
    assert second["usage"]["output_tokens"] <= 24
    with pytest.raises(sotto.InferenceError, match="is not loaded"):
        ask(real_engine, "hi", "nobody")
