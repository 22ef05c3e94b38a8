"""`sotto.agent.Dispatch`: tools that a server runs, on loopback."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import sotto
from agent_script import call, calls, options, says
from sotto.agent import Agent, Answer, AuditLog, Dispatch, Permissions

OPEN = {
    "type": "function",
    "function": {
        "name": "open_gate",
        "description": "Opens a gate.",
        "parameters": {
            "type": "object",
            "properties": {"gate": {"enum": ["north", "south"]}},
            "required": ["gate"],
        },
    },
}
SECRET = "Bearer 7d1f0c"


class Server:
    """A server that answers every request alike, and keeps what it got."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], Any]] = []
        self.status, self.body, self.headers = 200, b'"open"', {}
        self.wait = threading.Event()
        self.wait.set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.got.append((self.path, headers, json.loads(self.rfile.read(length))))
                server.wait.wait(60)
                self.send_response(server.status)
                for name, value in server.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(server.body)))
                self.end_headers()
                with contextlib.suppress(OSError):  # the client has had enough
                    self.wfile.write(server.body)

            def log_message(self, *_: Any) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/act"
        self._thread = threading.Thread(target=self._http.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self.wait.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def ask(engine: sotto.Engine, tools: Dispatch, arguments: Any = None, **rules: Any) -> Answer:
    plays = {"hi": [calls(call("open_gate", arguments or {"gate": "north"})), says("Well.")]}
    engine.load_model("npc", options=options(plays))
    with engine.session(model="npc") as session:
        answer = Agent(session, [tools], **rules).say("hi")
    engine.unload_model("npc")
    assert answer.text == "Well."
    return answer


@pytest.mark.row("E-092", "E-129")
@pytest.mark.parametrize(
    ("body", "result"),
    [
        (b'"open"', "open"),
        (b'{"content": "open"}', "open"),
        (b'{"content": {"wide": true}}', '{"wide": true}'),
        (b'{"wide": true}', '{"wide": true}'),
        (b"open", "open"),
        (b"", ""),
        (b"\xff\x00", "\ufffd\x00"),
        ("夜".encode(), "夜"),
    ],
)
def test_a_server_runs_a_call(engine: sotto.Engine, server: Server, body: bytes, result: str) -> None:
    server.body = body
    tools = Dispatch(server.url, [OPEN], headers={"Authorization": SECRET}, kind="world")
    audit = AuditLog()
    (made,) = ask(engine, tools, audit=audit).calls
    assert (made.status, made.result) == ("done", result)
    ((path, headers, given),) = server.got
    assert path == "/act" and headers["authorization"] == SECRET
    assert given == {"name": "open_gate", "arguments": {"gate": "north"}}
    assert tools.tools[0].untrusted and tools.tools[0].source == "dispatch" and tools.tools[0].kind == "world"
    assert SECRET not in repr([*audit]) + repr(tools) + repr(tools.tools)


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (500, b"no", "status 500"),
        (404, b"", "status 404"),
        (204, b"", "status 204"),
        (302, b"", "status 302"),
        (200, b"x" * (2 << 20), "more than 1048576 bytes"),
    ],
)
def test_servers_that_fail(
    engine: sotto.Engine, server: Server, status: int, body: bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.status, server.body = status, body
    server.headers = {"location": server.url.replace("/act", "/other")} if status == 302 else {}
    (made,) = ask(engine, Dispatch(server.url, [OPEN], headers={"Authorization": SECRET})).calls
    assert made.status == "failed" and why in made.result and len(server.got) == 1
    assert SECRET not in caplog.text


def test_servers_that_are_away_or_slow(engine: sotto.Engine, server: Server) -> None:
    (made,) = ask(engine, Dispatch("http://127.0.0.1:9/", [OPEN])).calls
    assert made.status == "failed" and "did not answer" in made.result
    server.wait.clear()
    (made,) = ask(engine, Dispatch(server.url, [OPEN], time_limit=0.05)).calls
    assert made.status == "timed_out"


def test_arguments_and_permissions_come_before_the_server(engine: sotto.Engine, server: Server) -> None:
    (made,) = ask(engine, Dispatch(server.url, [OPEN]), {"gate": "west"}).calls
    assert made.status == "failed" and "'west' is not one of" in made.result
    (made,) = ask(engine, Dispatch(server.url, [OPEN], permission="ask")).calls
    assert made.status == "denied"
    rules = Permissions(kinds={"world": "deny"})
    (made,) = ask(engine, Dispatch(server.url, [OPEN], kind="world"), permissions=rules).calls
    assert made.status == "denied" and server.got == []


def test_addresses_are_checked() -> None:
    for url in ("ftp://127.0.0.1/", "127.0.0.1", "", "http://", "file:///etc/passwd"):
        with pytest.raises(sotto.ArgumentError, match="url"):
            Dispatch(url, [OPEN])
    with pytest.raises(sotto.ArgumentError, match="invalid schema"):
        Dispatch("http://127.0.0.1/", [{"name": "a"}])
