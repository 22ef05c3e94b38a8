"""`Servers`: the MCP servers of a runner, by `sotto.agent.McpServers`."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .._handle import Unique
from .._values import invalid
from ..agent import CallContext, McpHttp, McpProcess, McpServer, McpServers, McpWebSocket, Tool
from ..errors import ArgumentError
from .errors import RunnerError
from .refusals import refuse
from .tools import Http, McpClientConfigPy, McpServerConfigPy, Process, WebSocket

_log = logging.getLogger("sotto.runner")
_SECONDS = 30  # of a call, and to connect
_START_SECONDS = 60  # of a program, to start and connect
_CALLS = 10
_MOST = 64  # calls at once of a server
_MOST_SECONDS = 86_400


class Servers(Unique):
    """The tools of MCP servers. Connects all that are enabled.

    Args:
        config: The servers.

    Raises:
        RunnerError: A field is invalid, or a server cannot be reached.
        ImportError: The extra `agent` is not installed.
    """

    def __init__(self, config: McpClientConfigPy) -> None:
        self.all = config.auto_register_tools
        seconds = _bounded("tool_timeout_secs", config.tool_timeout_secs, _SECONDS, _MOST_SECONDS)
        calls = _bounded("max_concurrent_calls", config.max_concurrent_calls, _CALLS, 2**31 - 1)
        self._slots = asyncio.Semaphore(calls)  # of the loop of all calls
        enabled = [one for one in config.servers if one.enabled]
        _check_ids(enabled)
        self._servers = McpServers(_server(one, seconds, min(calls, _MOST)) for one in enabled)
        try:
            self._servers.connect()
            for name, reasons in self._servers.problems.items():
                if not self._servers[name].connected:
                    raise RunnerError("; ".join(reasons))
                for reason in reasons:
                    _log.warning("MCP server '%s': %s", name, reason)
        except BaseException:
            self._servers.close()
            raise

    @property
    def tools(self) -> list[Tool]:
        """The tools, as the servers listed them last."""
        return [self._limited(one) for one in self._servers.tools]

    def close(self) -> None:
        """Ends all connections, within 7 seconds. A second call does nothing."""
        self._servers.close()

    def _limited(self, tool: Tool) -> Tool:
        """Returns a tool that waits until fewer calls than the limit run."""

        async def run(arguments: Any, context: CallContext) -> Any:
            async with self._slots:
                return await tool.run(arguments, context)

        return replace(tool, run=run)


def _server(config: McpServerConfigPy, seconds: int, calls: int) -> McpServer:
    if config.resources:
        refuse("McpServerConfigPy.resources")
    prefix = f"mcp_{os.urandom(4).hex()}" if config.tool_prefix is None else config.tool_prefix
    try:
        source, limit = _source(config)
        return McpServer(
            config.name,
            source,
            prefix=prefix,
            connect_limit=limit,
            max_concurrent=calls,
            max_tools=128,
            time_limit=seconds,
        )
    except ArgumentError as error:
        raise RunnerError(f"MCP server '{config.id}': {error}") from None


def _source(config: McpServerConfigPy) -> tuple[McpProcess | McpHttp | McpWebSocket, float]:
    """Returns where a server is, and the time limit to connect."""
    given, token = config.source, config.bearer_token
    if isinstance(given, Process):
        if token is not None:
            raise ArgumentError("invalid bearer_token: expected none for a Process; pass it in env")
        return McpProcess(given.command, given.args, given.env, given.work_dir), _START_SECONDS
    if isinstance(given, Http | WebSocket):
        limit = _bounded("timeout_secs", given.timeout_secs, _SECONDS, _MOST_SECONDS)
        kind = McpHttp if isinstance(given, Http) else McpWebSocket
        return kind(given.url, bearer_token=token, headers=given.headers), limit
    raise ArgumentError(
        "invalid source 'McpServerSourcePy()': expected McpServerSourcePy.Http, .Process or .WebSocket"
    )


def _check_ids(servers: Iterable[McpServerConfigPy]) -> None:
    seen: set[str] = set()
    for one in servers:
        if not one.id or one.id in seen:
            raise RunnerError(invalid("McpServerConfigPy.id", one.id, "an id that no other server has"))
        seen.add(one.id)


def _bounded(name: str, given: int | None, default: int, most: int) -> int:
    if given is None:
        return default
    if not 1 <= given <= most:
        raise RunnerError(invalid(name, given, f"an integer from 1 to {most}"))
    return given
