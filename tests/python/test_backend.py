"""`backend`: configurations, and model ids that begin with a backend's name."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sotto
from sotto.backend import BackendNames
from talk import chat, content

NAMES = st.text(min_size=1).filter(lambda name: "\0" not in name)


@pytest.mark.row("A-006", "A-007", "A-010")
def test_in_memory_is_a_static_method_that_returns_json() -> None:
    assert json.loads(sotto.Backend.in_memory()) == {"name": "local", "backend_type": "in_memory"}
    assert json.loads(sotto.Backend.in_memory(name="mine"))["name"] == "mine"
    parameters = inspect.signature(sotto.Backend.in_memory).parameters
    assert [(p.name, p.default) for p in parameters.values()] == [("name", "local")]


@given(NAMES)
def test_any_name_survives(name: str) -> None:
    assert json.loads(sotto.Backend.in_memory(name))["name"] == name


@pytest.mark.row("A-007", "A-008", "A-018", "A-019")
def test_an_engine_takes_it_and_its_name_leads_model_ids(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine(backends=[sotto.Backend.in_memory(name="here")])
    engine.load_model("here::npc", options={})
    assert engine.model_is_loaded("npc") and engine.model_is_loaded("here::npc")
    assert content(engine.llm_chat_completion(chat("a b", model="here::npc"))) == "a b"
    assert content(engine.llm_chat_completion(chat("a::b", model="npc"))) == "a::b"
    engine.unload_model("here::npc")
    assert engine.model_list() == "[]"


@pytest.mark.row("A-019")
def test_unknown_backend_is_a_bad_request(npc: sotto.Engine) -> None:
    for call in (
        lambda: npc.llm_chat_completion(chat(model="openai::gpt-x")),
        lambda: npc.load_model("openai::gpt-x"),
        lambda: npc.submit("chat", chat(model="openai::gpt-x")),
    ):
        with pytest.raises(
            ValueError, match=r"invalid model.* 'openai::gpt-x': expected a backend of this engine"
        ):
            call()


@pytest.mark.row("A-018")
@pytest.mark.parametrize(
    ("backends", "said"),
    [
        (["{"], r"invalid backends\[0\]: expected JSON"),
        (["[]"], r"invalid backends\[0\] '\[\]': expected a JSON object"),
        ([sotto.Backend.in_memory(), "{}"], r"invalid backends\[1\].backend_type 'None'"),
        (
            ['{"name": "openai", "backend_type": "proxy"}'],
            r"invalid backends\[0\].base_url: expected the address",
        ),
        (['{"backend_type": "in_memory"}'], r"invalid backends\[0\].name 'None'"),
        (['{"name": "a::b", "backend_type": "in_memory"}'], r"name 'a::b': expected"),
        (
            [sotto.Backend.in_memory(), sotto.Backend.in_memory()],
            r"invalid backends\[1\].name 'local': expected a unique name",
        ),
    ],
)
def test_bad_configurations_are_refused(backends: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sotto.Engine(backends=backends)


@pytest.mark.parametrize("backends", [sotto.Backend.in_memory(), [7], 7])
def test_backends_is_a_list_of_str(backends: Any) -> None:
    with pytest.raises(TypeError):
        sotto.Engine(backends=backends)


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_name_is_text(name: str) -> None:
    with pytest.raises(ValueError, match="invalid name "):
        sotto.Backend.in_memory(name)


@pytest.mark.parametrize("id_", ["sotto/house", "./a::b/c.gguf", "C:/models/x.gguf", "org/name:Q4_0"])
def test_other_ids_are_left_alone(id_: str) -> None:
    assert BackendNames(None).model("model_id", id_) == id_


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())), st.text())
def test_rewriting_a_request_changes_its_model_alone(fields: dict[str, Any], model: str) -> None:
    asked = {**fields, "model": f"local::{model}"}
    assert json.loads(BackendNames(None).request(json.dumps(asked))) == {**fields, "model": model}


@pytest.mark.parametrize("text", ["{::", "[]", '"::"', '{"a": "::"}', '{"model": 3, "a": "::"}'])
def test_what_is_no_request_is_left_to_the_library(text: str) -> None:
    assert BackendNames(None).request(text) == text
