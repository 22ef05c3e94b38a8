"""`Toolbox`: the tools of an agent by their names."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from .._handle import Handle
from .._values import wrong_type
from ..errors import ArgumentError
from ..terms import Priority
from .sandbox import PythonSandbox
from .shape import Schema
from .tool import Tool, as_tool

_log = logging.getLogger("sotto.agent")
_MOST = 128  # functions in a request, as the engine limits them


class Toolbox:
    """The tools of an agent, in the order in which the model reads them.

    A tool of an MCP server never takes the name of another tool: it is left out, and the log says so.

    Args:
        tools: Functions, tools, and objects with an iterable `tools`, such as a `Dispatch`.

    Raises:
        ArgumentError: Two tools have the same name, or there are more than 128.
    """

    def __init__(self, tools: Iterable[Any]) -> None:
        if isinstance(tools, str | bytes) or not isinstance(tools, Iterable):
            raise wrong_type("tools", tools, "functions and Tools")
        self._tools: dict[str, Tool] = {}
        self._sandboxes: list[PythonSandbox] = []
        for one in tools:
            if isinstance(one, PythonSandbox):
                self._sandboxes.append(one)
            for each in getattr(one, "tools", (one,)):
                self._add(as_tool(each))
        if len(self._tools) > _MOST:
            raise ArgumentError(
                f"invalid tools: expected at most {_MOST}, not {len(self._tools)}; "
                "pass those that the character needs"
            )

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool | None:
        """Returns the tool of a name; None if the name is unknown."""
        return self._tools.get(name)

    def offered(self, character: str, priority: Priority) -> list[Schema]:
        """Returns the entries of `tools` in a request of a character."""
        return [one.schema for one in self if one.allowed(character, priority)]

    def attach(self, engine: Handle, session_id: str) -> None:
        """Has what the tools keep for a session end with its engine."""
        for one in self._sandboxes:
            one.attach(engine, session_id)

    def _add(self, tool: Tool) -> None:
        other = self._tools.get(tool.name)
        if other is not None and "mcp" in (other.source, tool.source):
            _log.warning("left out a tool of an MCP server: another tool has the name '%s'", tool.name)
            if other.source == "mcp" and tool.source != "mcp":
                self._tools[tool.name] = tool
            return
        if other is not None:
            raise ArgumentError(
                f"invalid tools: expected one tool '{tool.name}', not two; use Tool.renamed()"
            )
        self._tools[tool.name] = tool
