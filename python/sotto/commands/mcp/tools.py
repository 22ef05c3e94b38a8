"""The tools of `sotto mcp`, by the package `mcp`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from ... import __version__
from ...errors import SottoError
from .cast import Cast

_LONGEST = 8192  # characters of a text
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)

Name = Annotated[str, Field(description="Name of the character.", max_length=200)]
Said = Annotated[str, Field(description="What is said to the character.", min_length=1, max_length=_LONGEST)]
By = Annotated[str, Field(description="Who says it; empty: a visitor.", max_length=200)]
About = Annotated[str, Field(description="What the memories are about.", min_length=1, max_length=_LONGEST)]
Limit = Annotated[int, Field(description="Maximum number of memories.", ge=1, le=64)]
Fact = Annotated[str, Field(description="A sentence that is true.", min_length=1, max_length=_LONGEST)]
Weight = Annotated[float, Field(description="Importance; memories of 1 are kept forever.", ge=0, le=1)]


def make_server(cast: Cast, *, recalls: bool, writes: bool) -> MCPServer[Any]:
    """Returns a server that offers characters.

    Args:
        cast: The characters.
        recalls: True: they have memories, which `recall` reads.
        writes: True: `remember` adds memories.
    """
    server = MCPServer(
        "sotto",
        version=__version__,
        instructions=f"Characters of a game who talk: {', '.join(cast.names)}.",
        log_level="ERROR",
    )

    @server.tool(annotations=_READS)
    async def list_characters() -> list[dict[str, Any]]:
        """Lists the characters: name, role, place, mood, and how many memories they have."""
        with _told():
            return cast.listed()

    @server.tool(annotations=_ACTS, structured_output=False)
    async def talk(character: Name, text: Said, by: By = "") -> str:
        """Says something to a character, and returns the answer. The character remembers the conversation."""
        with _told():
            return await cast.talk(character, text, by)

    if recalls:

        @server.tool(annotations=_READS)
        async def recall(character: Name, about: About, limit: Limit = 4) -> list[dict[str, Any]]:
            """Returns the memories of a character that fit a text best."""
            with _told():
                return await cast.recall(character, about, limit)

    if writes:

        @server.tool(annotations=_ACTS, structured_output=False)
        async def remember(character: Name, fact: Fact, importance: Weight = 0.8) -> str:
            """Adds a fact to the memories of a character."""
            with _told():
                await cast.remember(character, fact, importance)
                return "done"

    return server


@contextmanager
def _told() -> Any:
    """Gives the message of an error of Sotto to the client; of other errors, the package gives none."""
    try:
        yield
    except SottoError as error:
        raise ToolError(str(error)) from None
