"""`McpServer`: the tools of one MCP server, for an agent."""

from __future__ import annotations

import importlib.util
import weakref
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from ..._handle import Unique
from ..._typing import Unpack
from ..._values import invalid, number, string, whole, wrong_type
from ...errors import ArgumentError, SottoError, Status
from .. import background
from ..options import ToolOptions
from ..tool import Tool, checked_options, described
from .catalog import Catalog, Offer, Rules
from .content import result_text
from .errors import NEEDS, McpError
from .link import Link
from .sources import McpHttp, McpProcess, McpWebSocket, Source

_MOST_TOOLS = 128  # functions in a request, as the engine limits them


class McpServer(Unique):
    """The tools of one MCP server. Pass it to `Agent(tools=)`, after `connect()` or in a `with` block.

    One connection serves all agents, blocking ones and those of `sotto.agent.aio`. If it is lost, the call
    that waits for a result fails, as it may have acted, and the next one connects again.

    What the server says of its tools grants nothing: their annotations are not read, their results are
    `untrusted`, and their permission is that of `permission`, of `kind` ("mcp"), or the default. A tool
    whose schema changes after an agent was made can no longer be called by that agent. Needs the extra
    `agent`. Thread-safe.

    Args:
        name: Name of the server, for errors and for the names of its tools.
        source: Where it is: `McpProcess`, `McpHttp` or `McpWebSocket`.
        prefix: The model calls a tool by this, "_" and the tool's name; "": by its name alone; None: `name`.
        include: Names of the tools that are taken, with the wildcards "*" and "?"; None: all.
        exclude: Names of tools that are left out, with wildcards.
        tools: Rules for single tools, by their names at the server, over those of `options`.
        connect_limit: Longest time in seconds to start, connect and list the tools.
        max_concurrent: Maximum number of calls at once, 1 to 64; more wait within their time limit.
        max_restarts: How often a lost connection is opened again, after pauses that double from 0.25 s to
            8 s, without a result of a call between.
        max_tools: Maximum number of tools; more are left out. 1 to 128.
        **options: See `ToolOptions`; they hold for each tool.

    Raises:
        ArgumentError: An argument is out of range.
        ImportError: The extra `agent` is not installed.

    >>> with McpServer("files", McpProcess("files-server", ["/data"]), permission="ask") as files:
    ...     agent = Agent(session, [open_gate, files])
    """

    def __init__(
        self,
        name: str,
        source: Source,
        *,
        prefix: str | None = None,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] = (),
        tools: Mapping[str, ToolOptions] | None = None,
        connect_limit: float = 30.0,
        max_concurrent: int = 4,
        max_restarts: int = 5,
        max_tools: int = 64,
        **options: Unpack[ToolOptions],
    ) -> None:
        self.name = string("name", name)
        if not isinstance(source, McpProcess | McpHttp | McpWebSocket):
            raise wrong_type("source", source, "an McpProcess, McpHttp or McpWebSocket")
        self.source = source
        if number("connect_limit", connect_limit) <= 0:
            raise ArgumentError(invalid("connect_limit", connect_limit, "a positive number of seconds"))
        self._options = checked_options(name, ToolOptions(**{"kind": "mcp", "untrusted": True, **options}))
        self._rules = _tool_rules(tools, self._options)
        for package in ("mcp", "websockets", "jsonschema"):
            if importlib.util.find_spec(package) is None:
                raise ImportError(NEEDS)
        rules = Rules(
            _prefix(name if prefix is None else prefix),
            None if include is None else _patterns("include", include),
            _patterns("exclude", exclude),
            _from_one("max_tools", max_tools, _MOST_TOOLS),
        )
        concurrent = _from_one("max_concurrent", max_concurrent, 64)
        restarts = whole("max_restarts", max_restarts, 1000)
        self._link = Link(name, source, rules, float(connect_limit), concurrent, restarts)
        self._listed: tuple[Catalog, tuple[Tool, ...]] = (self._link.catalog, ())  # of the last catalog
        self._end = weakref.finalize(self, self._link.abandon)
        self._end.atexit = False

    def __repr__(self) -> str:
        state = "open" if self.connected else "not connected"
        return f"<sotto.agent.McpServer {self.name!r}, {self.source.kind}, {state}>"

    def __enter__(self) -> McpServer:
        self.connect()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> McpServer:
        await self.aconnect()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @property
    def connected(self) -> bool:
        """True if the connection is open. A lost one is opened again by the next call."""
        return self._link.alive

    @property
    def tools(self) -> list[Tool]:
        """The tools, as the server listed them last.

        Raises:
            SottoError: The server was never connected.
        """
        if not self._link.opened:
            raise SottoError(
                f"MCP server '{self.name}' is not connected: call connect(), or use it in a with block",
                Status.STATE,
            )
        catalog, made = self._listed
        if catalog is not self._link.catalog:
            catalog = self._link.catalog
            made = tuple(self._tool(one) for one in catalog.offers)
            self._listed = catalog, made
        return list(made)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why tools of the server were left out, and rules that no tool has, a sentence each."""
        listed = self._link.catalog.marks
        unknown = [f"rules for '{name}': it lists no such tool" for name in self._rules if name not in listed]
        return (*map(self._link.clean, self._link.catalog.problems), *(unknown if self._link.opened else ()))

    def connect(self) -> None:
        """Connects and lists the tools; lists them again if the connection is open.

        Raises:
            McpError: The server cannot be reached, or is closed.
        """
        background.run(self._link.open())

    def close(self) -> None:
        """Ends the connection and the program, within 7 seconds. A second call does nothing."""
        background.run(self._link.close())

    async def aconnect(self) -> None:
        """`connect()` for asyncio."""
        await background.join(self._link.open())

    async def aclose(self) -> None:
        """`close()` for asyncio."""
        await background.join(self._link.close())

    def _tool(self, offer: Offer) -> Tool:
        call = partial(self._call, offer)
        options = ToolOptions(**{**self._options, **self._rules.get(offer.remote, {})})
        return described(offer.schema, lambda given, context: call(given), "mcp", call, options)

    async def _call(self, offer: Offer, arguments: dict[str, Any]) -> str:
        result = await background.join(self._link.call(offer, arguments))
        text = self._link.clean(result_text(result))
        if result.is_error:
            raise McpError(text or "the tool failed")
        return text


def _tool_rules(given: Any, common: ToolOptions) -> dict[str, ToolOptions]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise wrong_type("tools", given, "a mapping of ToolOptions")
    found = {}
    for name, rules in given.items():
        if not isinstance(rules, Mapping):
            raise wrong_type(f"tools['{name}']", rules, "ToolOptions")
        found[string("tools", name)] = ToolOptions(**rules)  # type: ignore[typeddict-item]
        checked_options(name, ToolOptions(**{**common, **rules}))
    return found


def _prefix(given: str) -> str:
    if not isinstance(given, str):
        raise wrong_type("prefix", given, "a str or None")
    if len(given) > 32 or not all(one.isascii() and (one.isalnum() or one in "_-") for one in given):
        raise ArgumentError(invalid("prefix", given, "at most 32 letters, digits, '_' or '-'; pass prefix="))
    return given


def _patterns(name: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise wrong_type(name, given, "several texts")
    return tuple(string(name, one) for one in given)


def _from_one(name: str, value: Any, most: int) -> int:
    if whole(name, value, most) == 0:
        raise ArgumentError(invalid(name, value, f"an integer from 1 to {most}"))
    return int(value)
