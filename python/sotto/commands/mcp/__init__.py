"""`sotto mcp`: characters and their memories as tools of an MCP server."""

from .command import add_arguments, run

__all__ = ["add_arguments", "run"]
