"""An MCP server over stdio, by the package's own classes, with tools that behave and tools that do not.

Run as `mcp_program.py MODE [ARGUMENT...]`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Image
from mcp.server.stdio import stdio_server

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def good(notes: str = "") -> MCPServer:
    """A server whose tools behave, more or less. `notes`: a file in which it notes what happens."""
    server = MCPServer("notice board")
    running = 0

    def note(what: str) -> None:
        if notes:
            with open(notes, "a") as file:
                file.write(what + "\n")

    @server.tool(structured_output=False)
    def read_board(name: str) -> str:
        """Reads a notice board."""
        note(f"read {name}")
        return f"{name}: wolves in the hills"

    @server.tool()
    def count(numbers: list[int]) -> dict[str, int]:
        """Counts."""
        return {"sum": sum(numbers), "many": len(numbers)}

    @server.tool(structured_output=False)
    def picture() -> list[Any]:
        """Draws."""
        return ["a wolf", Image(data=PNG, format="png")]

    @server.tool()
    def fail() -> str:
        """Fails."""
        raise ValueError(f"no such board; {os.environ.get('BOARD_TOKEN', '')}")

    @server.tool(structured_output=False)
    async def wait(seconds: float) -> str:
        """Waits."""
        nonlocal running
        running += 1
        note(f"waiting {running}")
        try:
            await asyncio.sleep(seconds)
        except BaseException as error:
            note(f"cancelled {type(error).__name__}")
            raise
        finally:
            running -= 1
        return "waited"

    @server.tool(structured_output=False)
    def crash() -> str:
        """Crashes."""
        note("crash")
        print("the board has burnt down", file=sys.stderr, flush=True)
        os._exit(3)

    @server.tool(structured_output=False)
    def large(size: int) -> str:
        """Returns a long text."""
        return "x" * size

    @server.tool(structured_output=False)
    def environment() -> str:
        """Returns names of variables."""
        return " ".join(sorted(os.environ))

    return server


def odd(listed: list[dict[str, Any]]) -> Server[Any]:
    """A server that lists these tools, whatever they are, and answers each call with its name."""
    pages = [listed]

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(one) for one in pages[-1]])

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        if params.name == "replace":
            pages.append(json.loads(params.arguments["tools"]))
            await ctx.session.send_tool_list_changed()
        return types.CallToolResult(content=[types.TextContent(text=f"ran {params.name}")])

    return Server("odd", on_list_tools=list_tools, on_call_tool=call_tool)


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _flood(line: bytes) -> None:
    while True:
        os.write(1, line)


def main() -> None:
    """Serves, or misbehaves, until the input ends or for ever."""
    mode, *given = sys.argv[1:]
    if mode == "good":
        good(*given).run()
    elif mode == "odd":
        asyncio.run(_serve(odd(json.loads(Path(given[0]).read_text()))))
    elif mode == "ends":
        print("it cannot start: no licence", file=sys.stderr)
        sys.exit(7)
    elif mode == "stalls":  # reads nothing, says nothing, and does not end by itself
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(given[0]).write_text(str(os.getpid()))
        time.sleep(600)
    elif mode == "garbage":
        _flood(b"not json\n")
    elif mode == "endless line":
        _flood(b"x" * 65536)
    elif mode == "notifications":
        _flood(b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}\n')
    elif mode == "parent":  # leaves a child behind that holds the pipes
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(given[0]).write_text(str(child.pid))
        good().run()
    elif mode == "chatty":
        print("Server ready!", flush=True)
        good(*given).run()


if __name__ == "__main__":
    main()
