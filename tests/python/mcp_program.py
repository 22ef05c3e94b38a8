"""MCP servers by the package's own classes, with tools that behave and tools that do not.

`mcp_program.py good NOTES` and `mcp_program.py odd TOOLS` serve them over stdio.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context, Image
from mcp.server.stdio import stdio_server
from pydantic import BaseModel


class Which(BaseModel):
    """What a tool asks."""

    name: str


PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def good(notes: str = "") -> MCPServer:
    """A server whose tools behave, more or less. `notes`: a file in which it notes what happens."""
    server = MCPServer("notice board")
    running = waiting = 0
    met = asyncio.Event()

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
        raise ValueError("no such board")

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
    async def meet(many: int) -> str:
        """Waits until so many calls run at once."""
        nonlocal met, waiting, running
        waiting, running = waiting + 1, running + 1
        note(f"meeting {running}")
        here = met
        if waiting >= many:
            met.set()
            met, waiting = asyncio.Event(), 0
        await here.wait()
        await asyncio.sleep(0.05)  # in which a call too many would come
        running -= 1
        return "met"

    @server.tool(structured_output=False)
    async def ask(ctx: Context[Any]) -> str:
        """Asks the user."""
        return str(await ctx.elicit("Which board?", Which))

    @server.tool(structured_output=False)
    def crash() -> str:
        """Crashes."""
        print("the board has burnt down", file=sys.stderr, flush=True)
        os._exit(3)

    @server.tool(structured_output=False)
    def large(size: int) -> str:
        """Returns a long text."""
        return "x" * size

    @server.tool(structured_output=False)
    async def rebuild(ctx: Context[Any]) -> str:
        """Replaces some of the tools."""
        for name in ("read_board", "count"):
            server.remove_tool(name)
        server.add_tool(lambda text: text, name="count", structured_output=False)
        await ctx.notify_tools_changed()
        return "rebuilt"

    @server.tool(structured_output=False)
    def environment() -> str:
        """Returns names of variables."""
        return " ".join(sorted(os.environ))

    return server


def odd(listed: list[dict[str, Any]]) -> Server[Any]:
    """A server that lists these tools, and answers each call with its name."""

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(one) for one in listed])

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult | types.InputRequiredResult:
        if params.name == "asks":
            return types.InputRequiredResult(request_state="x")
        return types.CallToolResult(content=[types.TextContent(text=f"ran {params.name}")])

    return Server("odd", on_list_tools=list_tools, on_call_tool=call_tool)


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    mode, argument = sys.argv[1:]
    if mode == "good":
        good(argument).run()
    else:
        asyncio.run(_serve(odd(json.loads(Path(argument).read_text()))))
