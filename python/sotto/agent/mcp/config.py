"""`McpServers`: several servers, as the common file with `mcpServers` lists them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..._desc import StrPath
from ..._handle import Unique
from ..._values import wrong_type
from ...errors import ArgumentError
from .. import background
from ..tool import Tool
from .errors import McpError
from .server import McpServer
from .sources import McpHttp, McpProcess, McpWebSocket, Source

_MOST_BYTES = 1 << 20
_MOST_SERVERS = 64
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_TYPES = {
    "stdio": McpProcess,
    "http": McpHttp,
    "streamable-http": McpHttp,
    "streamableHttp": McpHttp,
    "ws": McpWebSocket,
    "websocket": McpWebSocket,
}


class McpServers(Unique):
    """Several MCP servers. Pass it to `Agent(tools=)`. A server that cannot be reached does not stop others.

    Args:
        servers: The servers, with different names.

    Raises:
        ArgumentError: Two servers have the same name.

    >>> with McpServers.from_file("mcp.json", options={"files": {"permission": "ask"}}) as servers:
    ...     print(servers.problems)
    ...     agent = Agent(session, [open_gate, servers])
    """

    def __init__(self, servers: Iterable[McpServer]) -> None:
        self._servers: dict[str, McpServer] = {}
        self._failures: dict[str, str] = {}
        for one in servers:
            if not isinstance(one, McpServer):
                raise wrong_type("servers", one, "McpServers of sotto.agent")
            if one.name in self._servers:
                raise ArgumentError(f"invalid servers: expected one server '{one.name}', not two")
            self._servers[one.name] = one

    @classmethod
    def from_file(
        cls, path: StrPath, *, options: Mapping[str, Mapping[str, Any]] | None = None
    ) -> McpServers:
        """Reads `{"mcpServers": {name: {"command": ..., "args": [...], "env": {...}, "cwd": ...}}}`.

        A server with `url` (and `headers`) is reached over HTTP, or WebSocket if the address is "ws://..."
        or "wss://...". `${NAME}` and `${NAME:-default}` stand for environment variables: keep tokens there.
        Servers with `"disabled": true` are left out. Other fields are not read: no file grants permission.

        Args:
            path: File of JSON, at most 1 MB. It says which programs run: trust it as you trust a program.
            options: Further arguments of `McpServer`, by the name of the server.

        Raises:
            ArgumentError: The file is not of this form; the message has the path of the field.
            OSError: The file cannot be read.
        """
        return cls.from_config(_read(os.fspath(path)), options=options)

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], *, options: Mapping[str, Mapping[str, Any]] | None = None
    ) -> McpServers:
        """Reads what `from_file()` reads, from a mapping."""
        listed = config.get("mcpServers") if isinstance(config, Mapping) else None
        if not isinstance(listed, Mapping):
            raise ArgumentError('invalid configuration: expected {"mcpServers": {name: {...}}}')
        if len(listed) > _MOST_SERVERS:
            raise ArgumentError(f"invalid mcpServers: expected at most {_MOST_SERVERS}, not {len(listed)}")
        given = dict(options or {})
        for name in given:
            if name not in listed:
                raise ArgumentError(f"invalid options '{name}': expected names of mcpServers")
        made = []
        for name, entry in listed.items():
            path = f"mcpServers.{name}"
            if not isinstance(entry, Mapping):
                raise ArgumentError(f"invalid {path}: expected an object")
            if entry.get("disabled") is not True:
                made.append(McpServer(name, _source(entry, path), **given.get(name, {})))
        return cls(made)

    def __repr__(self) -> str:
        return f"<sotto.agent.McpServers {', '.join(self._servers)}>"

    def __iter__(self) -> Iterator[McpServer]:
        return iter(self._servers.values())

    def __len__(self) -> int:
        return len(self._servers)

    def __getitem__(self, name: str) -> McpServer:
        return self._servers[name]

    def __enter__(self) -> McpServers:
        self.connect()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> McpServers:
        await self.aconnect()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @property
    def tools(self) -> list[Tool]:
        """The tools of all servers that were connected."""
        ready = (one for one in self if one.name not in self._failures)
        return [tool for server in ready for tool in server.tools]

    @property
    def problems(self) -> dict[str, tuple[str, ...]]:
        """Why servers could not be connected, and why tools were left out, by the name of the server."""
        found = {one.name: one.problems for one in self if one.problems}
        return {**found, **{name: (why,) for name, why in self._failures.items()}}

    def connect(self) -> None:
        """Connects all servers at once. Those that fail are in `problems`, and have no tools."""
        background.run(self._connect())

    def close(self) -> None:
        """Ends all connections, within 7 seconds. A second call does nothing."""
        background.run(self._close())

    async def aconnect(self) -> None:
        """`connect()` for asyncio."""
        await background.join(self._connect())

    async def aclose(self) -> None:
        """`close()` for asyncio."""
        await background.join(self._close())

    async def _connect(self) -> None:
        async def one(server: McpServer) -> None:
            try:
                await server.aconnect()
                self._failures.pop(server.name, None)
            except McpError as error:
                self._failures[server.name] = str(error)

        await asyncio.gather(*map(one, self))

    async def _close(self) -> None:
        await asyncio.gather(*(one.aclose() for one in self))


def _read(path: str) -> Any:
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ArgumentError(f"invalid path '{path}': expected a regular file")
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ArgumentError(f"invalid path '{path}': expected a file of at most {_MOST_BYTES} bytes")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"invalid path '{path}': expected JSON; {type(error).__name__}") from None


def _source(entry: Mapping[str, Any], path: str) -> Source:
    """Returns where a server is, of its entry. Errors do not show values: they may be secrets."""
    kind, url = entry.get("type"), _field(entry, "url", path)
    if kind is None:
        if (url is None) == ("command" not in entry):
            raise ArgumentError(f"invalid {path}: expected either command or url")
        kind = "stdio" if url is None else "ws" if url.startswith(("ws:", "wss:")) else "http"
    if kind not in _TYPES:
        raise ArgumentError(f"invalid {path}.type: expected {', '.join(_TYPES)}")
    try:
        if _TYPES[kind] is McpProcess:
            args = entry.get("args") or []
            if not isinstance(args, list):
                raise ArgumentError("invalid args: expected an array of texts")
            words = [_expanded(one, f"{path}.args[{at}]") for at, one in enumerate(args)]
            command = _field(entry, "command", path)
            if command is None:
                raise ArgumentError("missing command")
            return McpProcess(command, words, _fields(entry, "env", path), _field(entry, "cwd", path))
        if url is None:
            raise ArgumentError("missing url")
        made = McpWebSocket if _TYPES[kind] is McpWebSocket else McpHttp
        return made(url, headers=_fields(entry, "headers", path))
    except (ArgumentError, TypeError) as error:
        said = str(error)
        raise ArgumentError(said if path in said else f"{path}: {said}") from None


def _field(entry: Mapping[str, Any], name: str, path: str) -> str | None:
    value = entry.get(name)
    return None if value is None else _expanded(value, f"{path}.{name}")


def _fields(entry: Mapping[str, Any], name: str, path: str) -> dict[str, str] | None:
    given = entry.get(name)
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ArgumentError(f"invalid {path}.{name}: expected an object")
    return {str(key): _expanded(value, f"{path}.{name}.{key}") for key, value in given.items()}


def _expanded(value: Any, path: str) -> str:
    """Returns a text with its environment variables."""
    if not isinstance(value, str):
        raise ArgumentError(f"invalid {path}: expected a text")

    def replaced(found: re.Match[str]) -> str:
        known = os.environ.get(found[1], found[2])
        if known is None:
            raise ArgumentError(f"invalid {path}: the environment has no variable {found[1]}")
        return known

    return _VARIABLE.sub(replaced, value)
