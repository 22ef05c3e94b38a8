"""Sessions over HTTP, and the header that names one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import serving

HELLO = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "temperature": 0}
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Served]:
    with serving.served() as running:
        yield running


@pytest.fixture
def opened(server: serving.Served) -> Iterator[str]:
    body = {"session": "mara", "system": "You are Mara."}
    status, headers, told = server.ask("/v1/sessions", body)
    assert (status, headers["location"]) == (201, "/v1/sessions/mara")
    assert told == {"object": "session", "session": "mara", "model": "sotto/house", "messages": 1}
    yield "/v1/sessions/mara"
    server.ask("/v1/sessions/mara", method="DELETE")


@pytest.mark.real
def test_a_conversation_goes_on(server: serving.Served, opened: str) -> None:
    said = server.ask(CHAT, {**HELLO, "session": "mara"})[2]["choices"][0]["message"]["content"]
    messages = server.ask(opened)[2]["messages"]
    assert [one["role"] for one in messages] == ["system", "user", "assistant"]
    assert messages[2]["content"] == said
    usage = server.ask(CHAT, {**HELLO, "session": "mara"})[2]["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] > 20  # only what is new was prefilled
    server.events(CHAT, {**HELLO, "session": "mara"})
    assert len(server.ask(opened)[2]["messages"]) == 7
    assert server.ask("/v1/sessions")[2]["data"][0]["messages"] == 7
    asked = {**HELLO, "session": "mara", "model": "claude"}
    assert server.ask("/v1/messages", asked)[2]["type"] == "message"


@pytest.mark.real
def test_a_session_is_copied_changed_and_closed(server: serving.Served, opened: str) -> None:
    server.ask(CHAT, {**HELLO, "session": "mara"})
    status, _, told = server.ask("/v1/sessions", {"from": "mara", "keep": 1})
    assert status == 201 and told["messages"] == 1
    copy = f"/v1/sessions/{told['session']}"
    told = server.ask(copy, {"system": "You are Oda.", "pinned": True}, "PATCH")[2]
    assert told["pinned"] is True
    assert server.ask(copy)[2]["messages"] == [{"role": "system", "content": "You are Oda."}]
    assert len(server.ask(opened)[2]["messages"]) == 3
    assert server.ask(copy, method="DELETE")[2]["deleted"] is True
    assert server.ask(copy)[0] == 404
    assert server.ask(copy, method="DELETE")[0] == 404


@pytest.mark.real
def test_turns_are_taken_back(server: serving.Served, opened: str) -> None:
    for _ in range(2):
        server.ask(CHAT, {**HELLO, "session": "mara"})
    status, _, told = server.ask(f"{opened}/edit", {"action": "rewind"})
    assert (status, told["messages"]) == (200, 3)
    assert server.ask(f"{opened}/edit", {"action": "rewind", "keep": 1})[2]["messages"] == 1
    status, _, told = server.ask(f"{opened}/edit", {"action": "rewind", "turns": 1})
    assert status == 400 and "turns" in told["error"]["message"]


@pytest.mark.real
def test_a_token_session_is_edited(server: serving.Served) -> None:
    status, _, told = server.ask("/v1/sessions", {"session": "raw", "tokens": [300, 301, 302]})
    assert (status, told["tokens"], told["end"]) == (201, 3, 2)
    raw, turn = (
        "/v1/sessions/raw",
        {"session": "raw", "prompt": [303], "max_tokens": 2, "return_tokens": True},
    )
    answer = server.ask("/v1/completions", turn)[2]["choices"][0]["tokens"]
    assert server.ask(raw)[2]["tokens"] == [300, 301, 302, 303, *answer]
    copied = server.ask(f"{raw}/edit", {"action": "copy", "to_session": "raw-2", "from": 1, "to": 3})[2]
    assert (copied["session"], copied["tokens"], copied["end"]) == ("raw-2", 2, 2)
    cut = server.ask(f"{raw}/edit", {"action": "cut", "from": 1, "to": 2})[2]
    assert cut["tokens"] == 3 + len(answer)
    server.ask(f"{raw}/edit", {"action": "shift", "from": 2, "delta": -1})
    assert server.ask(raw)[2]["tokens"] == [300, 302, 303, *answer]
    assert server.ask(f"{raw}/edit", {"action": "copy", "to_session": "a/b"})[0] == 400
    assert server.ask(f"{raw}/edit", {"action": "rewind"})[0] == 400  # it holds tokens
    for path in (raw, "/v1/sessions/raw-2"):
        assert server.ask(path, method="DELETE")[0] == 200


@pytest.mark.real
def test_the_id_of_an_open_session_is_refused(server: serving.Served, opened: str) -> None:
    status, _, told = server.ask("/v1/sessions", {"session": "mara"})
    assert (status, told["error"]["type"]) == (409, "conflict_error")


@pytest.mark.real
@pytest.mark.parametrize(
    ("method", "path", "body", "status", "named"),
    [
        ("POST", "", {"session": "a/b"}, 400, "session 'a/b'"),
        ("POST", "", {"session": ".."}, 400, "session"),
        ("POST", "", {"session": "x" * 129}, 400, "session"),
        ("POST", "", {"session": 7}, 400, "session '7'"),
        ("POST", "", {"sesion": "a"}, 400, "sesion"),
        ("POST", "", {"from": "nobody"}, 404, "nobody"),
        ("POST", "", {"from": ["a"]}, 400, "session"),
        ("POST", "", {"model": 7}, 400, "model"),
        ("POST", "", {"messages": "Hello"}, 400, "messages"),
        ("POST", "", {"pinned": "yes"}, 400, "pinned"),
        ("POST", "", [], 400, "JSON object"),
        ("GET", "/nobody", None, 404, "nobody"),
        ("GET", "/%00", None, 400, "session"),
        ("GET", "/%2e%2e", None, 400, "session"),
        ("PATCH", "/nobody", {"pinned": True}, 404, "nobody"),
        ("PATCH", "/nobody", {}, 400, "system, pinned, lora"),
        ("PATCH", "/nobody", {"messages": []}, 400, "messages"),
        ("POST", "/nobody/edit", {"action": "rewind"}, 404, "nobody"),
        ("POST", "/nobody/edit", {}, 400, "action"),
        ("POST", "/nobody/edit", {"action": "undo"}, 400, "undo"),
        ("POST", "/nobody/edit", {"action": "cut", "form": 1}, 400, "form"),
        ("POST", "/%2e%2e/edit", {"action": "rewind"}, 400, "session"),
        ("DELETE", "/nobody", None, 404, "nobody"),
        ("PUT", "/nobody", {}, 405, "PUT"),
    ],
)
def test_what_is_invalid_is_named(
    server: serving.Served, method: str, path: str, body: Any, status: int, named: str
) -> None:
    got, _, told = server.ask(f"/v1/sessions{path}", body, method)
    assert (got, named in told["error"]["message"]) == (status, True), told


@pytest.mark.real
def test_a_chat_of_an_unknown_session_is_refused(server: serving.Served) -> None:
    status, _, told = server.ask(CHAT, {**HELLO, "session": "nobody"})
    assert status == 404 and "nobody" in told["error"]["message"]
    assert server.ask(CHAT, {**HELLO, "session": 7})[0] == 400


@pytest.mark.real
def test_the_header_is_returned_and_does_nothing_else(server: serving.Served) -> None:
    status, headers, _ = server.ask(CHAT, HELLO, x_session_id="mara-7")
    assert (status, headers["x-session-id"]) == (200, "mara-7")
    assert server.ask("/v1/sessions")[2]["data"] == []
    assert "x-session-id" not in server.ask("/v1/sessions")[1]
    for bad in ("a b", "x" * 129, "a/b", ""):
        status, headers, told = server.ask(CHAT, HELLO, x_session_id=bad)
        assert status == 400 and "x-session-id" in told["error"]["message"] and "x-session-id" not in headers
