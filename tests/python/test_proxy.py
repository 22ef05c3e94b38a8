"""The backend "proxy": what a server is asked, and what becomes of its answers."""

from __future__ import annotations

import inspect
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import BUILD, SCRIPTED
from remote_server import KEY, Asked, RemoteServer, Reply
from talk import chat, content

MODULE = next(iter(sorted(BUILD.glob("*sotto_proxy.*"))), None)
pytestmark = pytest.mark.skipif(MODULE is None, reason="the build has no module sotto_proxy")


@pytest.fixture
def server() -> Iterator[RemoteServer]:
    made = RemoteServer()
    yield made
    made.close()


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A folder with the proxy's module and the scripted backend's."""
    folder = tmp_path / "modules"
    folder.mkdir()
    for file in (MODULE, *SCRIPTED.glob("*sotto_scripted.*")):
        assert file is not None
        (folder / file.name).symlink_to(file)
    return folder


@pytest.fixture
def remote(open_engine: Callable[..., sotto.Engine], server: RemoteServer, modules: Path) -> sotto.Engine:
    """An engine whose models `studio::...` the server answers for."""
    proxy = sotto.Backend.proxy("studio", server.url, KEY, options={"max_retries": 0})
    return open_engine(backends=[sotto.Backend.in_memory(), proxy], module_dir=modules)


@pytest.mark.row("A-009", "A-011", "A-012", "A-013", "A-014", "A-015")
def test_a_configuration_is_json_with_four_keys() -> None:
    made = sotto.Backend.proxy(name="cloud", base_url="https://example.com/v1", api_key="sk-1")
    assert json.loads(made) == {
        "name": "cloud", "backend_type": "proxy", "base_url": "https://example.com/v1", "api_key": "sk-1",
    }  # fmt: skip
    assert json.loads(sotto.Backend.proxy())["api_key"] is None
    parameters = list(inspect.signature(sotto.Backend.proxy).parameters.values())[:3]
    assert [(p.name, p.default) for p in parameters] == [
        ("name", "openai"), ("base_url", "https://api.openai.com/v1"), ("api_key", None),
    ]  # fmt: skip


@pytest.mark.row("A-013", "A-014", "A-018", "A-019")
def test_a_chat_becomes_a_post_with_its_fields(remote: sotto.Engine, server: RemoteServer) -> None:
    asked = chat("hi", model="studio::gpt-x", temperature=0.5, seed=7)
    answer = json.loads(remote.llm_chat_completion(asked))
    assert answer["choices"][0]["message"]["content"] == "hello there"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["model"] == "studio::gpt-x"
    assert answer["usage"]["prompt_tokens"] == 7 and answer["usage"]["completion_tokens"] == 3
    got = server.last
    assert (got.method, got.path) == ("POST", "/v1/chat/completions")
    assert got.headers["Authorization"] == f"Bearer {KEY}"
    assert got.headers["Content-Type"] == "application/json"
    sent = {**json.loads(asked), "model": "gpt-x", "stream": True, "stream_options": {"include_usage": True}}
    assert got.body == sent


@pytest.mark.row("A-016")
def test_each_operation_has_its_path(remote: sotto.Engine, server: RemoteServer) -> None:
    def answer(asked: Asked, reply: Reply) -> None:
        if asked.path == "/v1/completions":
            reply.begin()
            reply.event({"choices": [{"index": 0, "text": "once", "finish_reason": "length"}]})
            reply.event("[DONE]")
        elif asked.path == "/v1/embeddings":
            data = [{"object": "embedding", "index": 0, "embedding": [0.5, -1.0]}]
            reply.json({"object": "list", "data": data, "usage": {"prompt_tokens": 2, "total_tokens": 2}})
        elif asked.path == "/v1/images/generations":
            image = {"b64_json": "iVBORw0KGgo=", "revised_prompt": "a red fox"}
            reply.json({"created": 1, "data": [image] * asked.body["n"]})
        elif asked.path == "/v1/rerank":
            reply.json({"results": [{"index": 1, "relevance_score": 0.9}]})
        else:
            reply.chat(["hello"])

    server.answer = answer
    text = json.loads(remote.llm_text_completion(json.dumps({"model": "studio::m", "prompt": "a"})))
    assert text["choices"][0]["text"] == "once" and text["choices"][0]["finish_reason"] == "length"
    assert server.last.body["prompt"] == "a" and server.last.path == "/v1/completions"
    vectors = json.loads(remote.embed(json.dumps({"model": "studio::m", "input": ["a"]})))
    assert vectors["data"][0]["embedding"] == [0.5, -1.0]
    assert server.last.body == {"model": "m", "input": ["a"]}
    body = {"model": "studio::m", "query": "q", "documents": ["a", "b"]}
    ranked = remote.rerank("q", ["a", "b"], model="studio::m")
    assert server.last.path == "/v1/rerank" and server.last.body.items() >= {**body, "model": "m"}.items()
    assert ranked is not None
    picture = {"model": "studio::m", "prompt": "a fox", "n": 2, "size": "512x512"}
    made = json.loads(remote.image_generate(json.dumps(picture)))
    assert [one["revised_prompt"] for one in made["data"]] == ["a red fox"] * 2
    assert (server.last.path, server.last.body) == ("/v1/images/generations", {**picture, "model": "m"})
    chunks = remote.llm_chat_completion_stream(chat("hi", model="studio::m"))
    assert "".join(json.loads(one)["choices"][0]["delta"].get("content") or "" for one in chunks) == "hello"
    assert (server.last.path, server.last.body["stream"]) == ("/v1/chat/completions", True)
    response = json.loads(remote.llm_respond(json.dumps({"model": "studio::m", "input": "hi"})))
    assert response["output"][0]["content"][0]["text"] == "hello"
    assert server.last.body["messages"] == [{"role": "user", "content": "hi"}]


def test_reasoning_tool_calls_and_log_probabilities_arrive(
    remote: sotto.Engine, server: RemoteServer
) -> None:
    def answer(_: Asked, reply: Reply) -> None:
        reply.begin()
        for delta in (
            {"reasoning_content": "She "},
            {"reasoning_content": "asks."},
            {"content": "Wait."},
            {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "open", "arguments": '{"do'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": 'or": 1}'}}]},
        ):
            logprobs = {"content": [{"token": "Wait.", "logprob": -0.5}]} if "content" in delta else None
            reply.event({"choices": [{"index": 0, "delta": delta, "logprobs": logprobs}]})
        reply.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
        reply.event("[DONE]")

    server.answer = answer
    tool = {"type": "function", "function": {"name": "open", "parameters": {"type": "object"}}}
    body = chat("hi", model="studio::m", tools=[tool], logprobs=True)
    choice = json.loads(remote.llm_chat_completion(body))["choices"][0]
    message = choice["message"]
    assert message["reasoning_content"] == "She asks." and message["content"] == "Wait."
    (call,) = message["tool_calls"]
    assert call["function"]["name"] == "open" and json.loads(call["function"]["arguments"]) == {"door": 1}
    assert choice["finish_reason"] == "tool_calls"
    assert any(one["token"] == "Wait." and one["logprob"] == -0.5 for one in choice["logprobs"]["content"])


def test_stop_strings_end_what_a_server_says(
    open_engine: Callable[..., sotto.Engine], server: RemoteServer, modules: Path
) -> None:
    server.answer = lambda _, reply: reply.chat(["the ", "secret", " word", " END", " more"])
    engine = open_engine(module_dir=modules)
    engine.load_model("m", backend="proxy", options={"base_url": server.url})
    assert content(engine.llm_chat_completion(chat("x", model="m", stop=[" END"]))) == "the secret word"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_events_in_any_form_are_read(remote: sotto.Engine, server: RemoteServer, ending: str) -> None:
    def answer(_: Asked, reply: Reply) -> None:
        reply.begin()
        chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": "é✓"}, "finish_reason": "stop"}]})
        lines = (": ping", "", "event: x", f"data:{chunk}", "", "data: [DONE]", "")
        whole = "".join(line + ending for line in lines)
        for byte in whole.encode():
            reply.write(bytes([byte]))

    server.answer = answer
    assert content(remote.llm_chat_completion(chat("x", model="studio::m"))) == "é✓"


def test_a_server_that_does_not_stream_is_understood(remote: sotto.Engine, server: RemoteServer) -> None:
    message = {"role": "assistant", "content": "whole"}
    server.answer = lambda _, reply: reply.json(
        {"choices": [{"index": 0, "message": message, "finish_reason": "length"}], "usage": {}}
    )
    answer = json.loads(remote.llm_chat_completion(chat("x", model="studio::m")))
    assert answer["choices"][0]["message"]["content"] == "whole"
    assert answer["choices"][0]["finish_reason"] == "length"


def test_headers_organization_project_and_the_key_of_a_variable(
    open_engine: Callable[..., sotto.Engine],
    server: RemoteServer,
    modules: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOTTO_TEST_KEY", KEY)
    engine = open_engine(module_dir=modules)
    options = {
        "base_url": server.url + "//", "api_key_env": "SOTTO_TEST_KEY", "model": "far",
        "organization": "org", "project": "proj", "headers": {"X-Game": "tavern"},
    }  # fmt: skip
    engine.load_model("near", backend="proxy", options=options)
    assert content(engine.llm_chat_completion(chat("x", model="near"))) == "hello there"
    got = server.last
    assert got.path == "/v1/chat/completions" and got.body["model"] == "far"
    headers = {name.lower(): value for name, value in got.headers.items()}
    assert headers["authorization"] == f"Bearer {KEY}" and headers["x-game"] == "tavern"
    assert headers["openai-organization"] == "org" and headers["openai-project"] == "proj"


def test_check_asks_for_the_models(
    open_engine: Callable[..., sotto.Engine], server: RemoteServer, modules: Path
) -> None:
    server.answer = lambda _, reply: reply.json({"object": "list", "data": [{"id": "a"}, {"id": "b"}]})
    engine = open_engine(module_dir=modules)
    options = {"base_url": server.url, "check": True, "model": "b"}
    engine.load_model("m", backend="proxy", options=options)
    assert (server.last.method, server.last.path) == ("GET", "/v1/models")
    assert '"models":["a","b"]' in engine.model_list().replace(" ", "")
    with pytest.raises(sotto.ModelLoadError, match="has no model 'c'; it has"):
        engine.load_model("n", backend="proxy", options={**options, "model": "c"})


def test_a_stalled_server_delays_no_other_model(remote: sotto.Engine, server: RemoteServer) -> None:
    release = threading.Event()

    def answers_late(_: Asked, reply: Reply) -> None:
        release.wait(20)
        reply.chat(["late"])

    server.answer = answers_late
    remote.load_model("npc", options={"loop": True, "tokens": ["a "], "token_ms": 1})
    late: list[str] = []
    waits = threading.Thread(
        target=lambda: late.append(content(remote.llm_chat_completion(chat("x", model="studio::m"))))
    )
    waits.start()
    while not server.asked:
        time.sleep(0.01)
    began = time.monotonic()
    for _ in range(5):
        remote.llm_chat_completion(chat("x", model="npc", max_tokens=20))
    took = time.monotonic() - began
    stats: Any = remote.stats()
    release.set()
    waits.join()
    assert late == ["late"]
    assert took < 3, took  # 100 tokens of 1 ms
    assert stats is not None


def test_a_paced_answer_keeps_its_pace_and_holds_the_server_back(
    remote: sotto.Engine, server: RemoteServer
) -> None:
    sent: list[int] = []

    def answer(_: Asked, reply: Reply) -> None:
        reply.begin()
        for number in range(200_000):
            delta = {"content": f"{number} ", "padding": "x" * 1000}
            reply.event({"choices": [{"index": 0, "delta": delta}]})
            sent.append(number)

    server.answer = answer
    stream = remote.llm_chat_completion_stream(chat("x", model="studio::m"), target_tps=50)
    times = []
    for _ in stream:
        times.append(time.monotonic())
        if len(times) == 60:
            break
    held = len(sent)
    stream.close()
    span = times[-1] - times[9]
    assert span == pytest.approx(50 / 50, rel=0.1), span
    assert held < 50_000, held  # 200,000 events are 200 MB
