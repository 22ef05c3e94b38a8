"""MCP servers on loopback for tests, by the package's own classes: over HTTP and over WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server import MCPServer, Server
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from websockets.asyncio.server import serve

import sotto
from agent_script import calls, options, says
from sotto.agent import Agent, Answer, McpProcess, McpServer

FOLDER = Path(__file__).parent
TOKEN = "Secret-7d1f0c22aa"


def program(file: str, *arguments: str, **options: Any) -> McpServer:
    """A server over stdio: `mcp_program.py` or `mcp_raw.py`."""
    env = options.pop("env", None)
    given = {"name": "board", "prefix": "", **options}
    source = McpProcess(sys.executable, [str(FOLDER / f"{file}.py"), *arguments], env=env)
    return McpServer(given.pop("name"), source, **given)


def ask(engine: sotto.Engine, tools: list[Any], *made: dict[str, Any], **rules: Any) -> Answer:
    """Plays a turn with these calls in one round."""
    engine.load_model("npc", options=options({"hi": [calls(*made), says("Well.")]}))
    try:
        with engine.session(model="npc") as session:
            answer = Agent(session, tools, **rules).say("hi")
    finally:
        engine.unload_model("npc")
    assert answer.text == "Well."
    return answer


def until(true: Callable[[], Any], seconds: float = 30) -> None:
    """Waits until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.005)


@contextlib.contextmanager
def on_a_loop(start: Callable[[asyncio.Event], Awaitable[Any]]) -> Iterator[None]:
    """Runs a coroutine on a thread with a loop of its own, until the block ends and sets its event."""
    loop = asyncio.new_event_loop()
    ending = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(start(ending)))
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(30)
        assert not thread.is_alive()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


@contextlib.contextmanager
def listening(port: int = 0) -> Iterator[tuple[socket.socket, int]]:
    """A socket that listens on a port of loopback; 0: a free one."""
    with socket.create_server(("127.0.0.1", port)) as taken:
        yield taken, taken.getsockname()[1]


@contextlib.contextmanager
def over_http(app: Any, taken: socket.socket | None = None) -> Iterator[str]:
    """Serves an ASGI application. Yields its address."""
    with contextlib.ExitStack() as stack:
        if taken is None:
            taken, _ = stack.enter_context(listening())
        config = uvicorn.Config(
            app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1, ws="none"
        )
        server = uvicorn.Server(config)

        async def start(ending: asyncio.Event) -> None:
            serving = asyncio.ensure_future(server.serve(sockets=[taken]))
            waiting = asyncio.ensure_future(ending.wait())
            await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
            server.should_exit = True
            await serving

        stack.enter_context(on_a_loop(start))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"


@contextlib.contextmanager
def over_websocket(
    server: MCPServer | Server[Any], heard: list[Any] | None = None, port: int = 0
) -> Iterator[str]:
    """Serves over WebSocket. Yields the address. `heard` gets the headers of each handshake."""
    inner: Server[Any] = server._lowlevel_server if isinstance(server, MCPServer) else server

    async def one(connection: Any) -> None:
        if heard is not None:
            heard.append(dict(connection.request.headers.raw_items()))
        to_server, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, from_server = anyio.create_memory_object_stream[SessionMessage](0)

        async def receive() -> None:
            async with to_server:
                async for text in connection:
                    await to_server.send(SessionMessage(jsonrpc_message_adapter.validate_json(text)))

        async def send() -> None:
            async with from_server:
                async for item in from_server:
                    await connection.send(item.message.model_dump_json(by_alias=True, exclude_unset=True))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            tasks.start_soon(send)
            await inner.run(read, write, inner.create_initialization_options())
            tasks.cancel_scope.cancel()

    with listening(port) as (taken, port):

        async def start(ending: asyncio.Event) -> None:
            async with serve(one, sock=taken, subprotocols=["mcp"]):  # type: ignore[list-item]
                await ending.wait()

        with on_a_loop(start):
            yield f"ws://127.0.0.1:{port}/mcp"
