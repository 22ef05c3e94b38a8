"""Random calls of MCP servers, many at once, of which some are cancelled and some crash the server."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from typing import Any

import pytest

from mcp_program import good
from mcp_servers import over_http, over_websocket, program, until
from sotto.agent import McpError, McpHttp, McpServer, McpWebSocket, background


def pending() -> list[str]:
    """What runs on the loop of blocking agents."""
    assert background._made is not None
    return [one.get_coro().__qualname__ for one in asyncio.all_tasks(background._made[1])]  # type: ignore[union-attr]


async def play(board: McpServer, seed: int, count: int, crashes: bool) -> Counter[str]:
    """Makes calls at once. Returns how often each ended in which way."""
    tools = {one.name: one for one in board.tools}
    dice = random.Random(seed)
    ends: Counter[str] = Counter()

    async def one(number: int, name: str, arguments: dict[str, Any], patience: float) -> None:
        task = asyncio.ensure_future(tools[name].function(arguments))
        done, _ = await asyncio.wait({task}, timeout=patience)
        if not done:
            task.cancel()
            await asyncio.wait({task})
        if task.cancelled():
            ends["cancelled"] += 1
        elif isinstance(error := task.exception(), McpError):
            assert "exit status 3" in str(error) or "reads no more" in str(error), error
            ends["lost"] += 1
        else:
            assert task.result() == ("waited" if name == "wait" else f"{number}: wolves in the hills")
            ends["done"] += 1

    made = []
    for number in range(count):
        if crashes and dice.random() < 0.05:
            made.append(one(number, "crash", {}, 60))
        elif dice.random() < 0.5:
            made.append(one(number, "read_board", {"name": str(number)}, 60))
        else:
            seconds = dice.choice((0.0, 0.02, 600.0))
            made.append(one(number, "wait", {"seconds": seconds}, 60 if seconds < 1 else dice.random() * 0.3))
    await asyncio.gather(*made)
    return ends


@pytest.mark.parametrize("kind", ["stdio", "http", "websocket"])
def test_random_calls(kind: str) -> None:
    with contextlib.ExitStack() as stack:
        if kind == "stdio":
            board = program("mcp_program", "good", "", max_restarts=100, max_concurrent=16)
        elif kind == "http":
            url = stack.enter_context(over_http(good().streamable_http_app()))
            board = McpServer("board", McpHttp(url), prefix="", max_concurrent=16)
        else:
            url = stack.enter_context(over_websocket(good()))
            board = McpServer("board", McpWebSocket(url), prefix="", max_concurrent=16)
        with board:
            count = 60 if kind == "stdio" else 150
            ends = asyncio.run(play(board, 7, count, kind == "stdio"))
            assert sum(ends.values()) == count and ends["done"]
            assert ends["lost"] if kind == "stdio" else ends["cancelled"] and not ends["lost"]
            until(lambda: board._link._calls._value == 16)
    until(lambda: not pending())
