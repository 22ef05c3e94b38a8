"""MCP servers over HTTP and WebSocket that stall, flood, redirect, and send what is none of the protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.asyncio.server import serve

import sotto
from agent_script import call
from mcp_program import good
from mcp_servers import TOKEN, ask, listening, on_a_loop, over_http, over_websocket, until
from sotto.agent import McpError, McpHttp, McpServer, McpWebSocket

LOG = json.dumps(
    {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
)
DEADLINE = 20  # seconds for what takes 7 at most, on a busy machine


def misbehaving(how: str, heard: list[dict[bytes, bytes]]) -> Any:
    """An ASGI application that answers each request alike."""
    types = {"garbage": b"application/json", "body": b"application/json", "zipped": b"application/json"}
    status = {"redirect": 307, "error": 503}.get(how, 200)
    headers = [(b"content-type", types.get(how, b"text/event-stream"))]
    if how == "redirect":
        headers.append((b"location", b"http://localhost:9/mcp"))
    if how == "zipped":
        headers.append((b"content-encoding", b"gzip"))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for kind in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{kind}.complete"})
            return
        heard.append(dict(scope["headers"]))
        if how == "stalls":
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await send({"type": "http.response.start", "status": status, "headers": headers})
        parts = {
            "events": f"data: {LOG}\n\n".encode() * 100,
            "event": b"data: " + b"x" * 65536,
            "body": b" " * 65536,
        }
        while how in parts:
            with contextlib.suppress(OSError):
                await send({"type": "http.response.body", "body": parts[how], "more_body": True})
            await asyncio.sleep(0)
        body = {"garbage": b"no json", "zipped": b"\x1f\x8bno gzip"}.get(how, b"")
        await send({"type": "http.response.body", "body": body})

    return app


class Forgetful:
    """A service of an older protocol, which keeps sessions, and forgets them when asked to."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.ran: list[tuple[str, str]] = []
        self.deleted: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await misbehaving("", [])(scope, receive, send)
        session = dict(scope["headers"]).get(b"mcp-session-id", b"").decode()
        body = b""
        while (part := await receive())["type"] == "http.request":
            body += part["body"]
            if not part.get("more_body"):
                break
        if scope["method"] == "DELETE":
            self.deleted.append(session)
        message = json.loads(body) if scope["method"] == "POST" else {}
        status, result = self._answer(message, session)
        headers = [(b"content-type", b"application/json"), (b"mcp-session-id", str(len(self.ran)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        text = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), **result}).encode() if result else b""
        await send({"type": "http.response.body", "body": text})

    def _answer(self, message: dict[str, Any], session: str) -> tuple[int, dict[str, Any]]:
        method = message.get("method")
        if method is None:
            return 405, {}
        if method == "server/discover":
            return 200, {"error": {"code": -32601, "message": "Method not found"}}
        if method == "initialize":
            self.sessions.add(str(len(self.ran)))
            about = {"name": "raw", "version": "1"}
            return 200, {
                "result": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": about,
                }
            }
        if session not in self.sessions:
            return 404, {}
        if method == "tools/list":
            return 200, {"result": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}}
        if method == "tools/call":
            self.ran.append((session, message["params"]["name"]))
            return 200, {"result": {"content": [{"type": "text", "text": "looked"}]}}
        return 202, {}


@contextlib.contextmanager
def socket_of(how: str) -> Iterator[str]:
    """A WebSocket server that does the same at each connection."""

    async def one(connection: Any) -> None:
        if how == "ends":
            return
        if how == "large":
            await connection.send("x" * (5 << 20))
        while how in ("floods", "garbage"):
            await connection.send(LOG if how == "floods" else "no json")
        await connection.wait_closed()

    with listening() as (taken, port):

        async def start(ending: asyncio.Event) -> None:
            async with serve(one, sock=taken, subprotocols=["mcp"]):  # type: ignore[list-item]
                await ending.wait()

        with on_a_loop(start):
            yield f"ws://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("stalls", "no connection within 1 s"),
        ("events", "it floods the connection with messages"),
        ("event", "SSE stream failed|floods the connection"),
        ("body", "the answer has more than 4194304 bytes"),
        ("garbage", "Failed to parse JSON response"),
        ("zipped", "Failed to parse JSON response"),
        ("error", "HTTP status 503"),
        ("redirect", "HTTP status 307"),
    ],
)
def test_services_over_http_that_misbehave(how: str, why: str) -> None:
    heard: list[dict[bytes, bytes]] = []
    limit = 1 if how == "stalls" else 15
    with over_http(misbehaving(how, heard)) as url:
        board = McpServer("board", McpHttp(url, bearer_token=TOKEN), connect_limit=limit)
        begun = time.monotonic()
        with pytest.raises(McpError, match=why) as caught:
            board.connect()
        board.close()
        assert time.monotonic() - begun < limit + DEADLINE and TOKEN not in str(caught.value)
    assert {one[b"accept-encoding"] for one in heard} == {b"identity"}


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("stalls", "no connection within 1 s"),
        ("floods", "it floods the connection with messages"),
        ("garbage", "it floods the connection with messages, of which"),
        ("large", "it sent a message of more than 4194304 bytes"),
        ("ends", "the server closed the connection"),
    ],
)
def test_services_over_websocket_that_misbehave(how: str, why: str) -> None:
    limit = 1 if how == "stalls" else 15
    with socket_of(how) as url:
        board = McpServer("board", McpWebSocket(url, bearer_token=TOKEN), connect_limit=limit)
        begun = time.monotonic()
        with pytest.raises(McpError, match=why):
            board.connect()
        board.close()
        assert time.monotonic() - begun < limit + DEADLINE


def test_a_socket_that_comes_and_goes(engine: sotto.Engine) -> None:
    made = call("read_board", {"name": "inn"})
    with listening() as (_, port):
        pass
    with over_websocket(good(), port=port) as url:
        board = McpServer("board", McpWebSocket(url), prefix="", max_restarts=1)
        board.connect()
        assert ask(engine, [board], made).calls[0].status == "done"
    first, second = ask(
        engine, [board], made, {**made, "tool_calls": [{**made["tool_calls"][0], "index": 1}]}
    ).calls
    assert first.status == second.status == "failed" and "started again 1 times" in second.result
    with over_websocket(good(), port=port):
        board.connect()
        assert ask(engine, [board], made).calls[0].status == "done"
    board.close()


def test_a_service_that_forgets_its_sessions_is_asked_again(engine: sotto.Engine) -> None:
    """A call that the service has not run, as it says, is sent again; each runs once."""
    service = Forgetful()
    with over_http(service) as url:
        with McpServer("board", McpHttp(url), prefix="") as board:
            assert ask(engine, [board], call("look")).calls[0].result == "looked"
            service.sessions.clear()
            again = ask(engine, [board], call("look"), call("look", {}, 1)).calls
            assert [one.result for one in again] == ["looked"] * 2
        assert service.ran == [("0", "look"), ("1", "look"), ("1", "look")]
        assert service.deleted[-1] == "1"


def test_closing_while_it_connects() -> None:
    with socket_of("stalls") as url:
        board = McpServer("board", McpWebSocket(url))
        errors: list[Exception] = []

        def connect() -> None:
            try:
                board.connect()
            except Exception as error:
                errors.append(error)

        thread = threading.Thread(target=connect)
        thread.start()
        until(lambda: board._link._made is not None)
        board.close()
        thread.join(DEADLINE)
        assert not thread.is_alive()
        (error,) = errors
        assert isinstance(error, McpError) and "it is closed; make another one" in str(error)
