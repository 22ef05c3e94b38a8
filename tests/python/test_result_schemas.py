"""Every JSON result matches docs/pages/reference/schemas/results.json, and has no field that is not in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sotto
from results import SCHEMA, check
from talk import chat


def read(engine: sotto.Engine, op: Any, body: dict[str, Any]) -> str:
    """Returns the JSON of an operation's last event."""
    engine.submit(op, body)
    while True:
        engine.wait()
        for event in engine.events():
            if event.kind == "request_done":
                assert event.error == ""
                return event.json


def test_the_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.fixture
def house() -> Any:
    with sotto.Engine() as engine:
        engine.load_model("sotto/house")
        yield engine


def test_answers(house: sotto.Engine) -> None:
    body = {**json.loads(chat()), "model": "sotto/house", "max_tokens": 6, "keep_alive": 1}
    logprobs = {"logprobs": True, "top_logprobs": 2}
    check("chat_completion", house.llm_chat_completion({**body, "n": 2}))
    with_ids = check("chat_completion", house.llm_chat_completion({**body, **logprobs}))
    assert with_ids["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    usage = {"stream_options": {"include_usage": True}}
    for chunk in house.llm_chat_completion_stream({**body, **logprobs, **usage}):
        check("chat_completion_chunk", chunk)
    text = {"model": "sotto/house", "prompt": "Once", "max_tokens": 4, "logprobs": 2}
    check("text_completion", house.llm_text_completion(text))
    for chunk in house.llm_text_completion_stream({**text, **usage}):
        check("text_completion", chunk)


def test_reports_on_request(house: sotto.Engine) -> None:
    wanted = {"return_tokens": True, "return_settings": True, "n_probs": 2, "max_tokens": 5}
    chats = {**json.loads(chat()), "model": "sotto/house", **wanted}
    settings = check("chat_completion", house.llm_chat_completion(chats))["generation_settings"]
    assert settings["n_predict"] == 5 and settings["n_probs"] == 2
    for chunk in house.llm_chat_completion_stream(chats):
        check("chat_completion_chunk", chunk)
    text = {"model": "sotto/house", "prompt": "Once", **wanted}
    for sampled in (False, True):
        body = {**text, "post_sampling_probs": sampled}
        choice = check("text_completion", house.llm_text_completion(body))["choices"][0]
        assert ("prob" in choice["completion_probabilities"][0]) is sampled
        for chunk in house.llm_text_completion_stream(body):
            check("text_completion", chunk)


def test_tokens_and_states(house: sotto.Engine, tmp_path: Path) -> None:
    tokens = check("tokenize", house.tokenize({"model": "sotto/house", "content": "Hello"}))["tokens"]
    check("tokenize", house.tokenize({"model": "sotto/house", "content": "Grüße", "with_pieces": True}))
    check("detokenize", house.detokenize({"model": "sotto/house", "tokens": tokens}))
    body = {**json.loads(chat()), "model": "sotto/house"}
    check("apply_template", house.apply_template(body))
    check("save_state", house.save_state({**body, "path": str(tmp_path / "state")}))
    check("restore_state", house.restore_state({"model": "sotto/house", "path": str(tmp_path / "state")}))


def test_sessions(house: sotto.Engine) -> None:
    system = [{"role": "system", "content": "You are Mara."}]
    check("session", read(house, "open_session", {"session": "mara", "messages": system}))
    check("session", read(house, "change_session", {"session": "mara", "pinned": False}))
    check("session", read(house, "edit_session", {"session": "mara", "action": "rewind", "keep": 1}))
    check("session_messages", read(house, "read_session", {"session": "mara"}))
    check("token_session", read(house, "open_session", {"session": "raw", "tokens": [5, 6]}))
    check("token_session", read(house, "edit_session", {"session": "raw", "action": "cut", "from": 1}))
    check("session_tokens", read(house, "read_session", {"session": "raw"}))
    check("sessions", read(house, "read_session", {}))


def test_what_the_engine_says_of_itself(house: sotto.Engine) -> None:
    check("models", house.model_list())
    check("memory", json.dumps(house.memory()))
    check("plan", json.dumps(house.plan_model("sotto/house")))
    check("description", json.dumps(house.describe()))
