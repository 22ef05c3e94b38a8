"""Where an MCP server is: a program, or an address for HTTP or WebSocket."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ..._desc import StrPath
from ..._values import string, wrong_type
from ...errors import ArgumentError

_FIELD = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_SECRET = re.compile(r"token|key|secret|passw|auth|credential", re.IGNORECASE)  # names of variables
_MIN_SECRET = 8  # characters; shorter header values can be parts of other words


@dataclass(frozen=True)
class McpProcess:
    """A program that speaks MCP on its standard input and output.

    It gets a few variables of this process's environment (`PATH`, `HOME`, ...) and those of `env`. It ends
    with the server object, and with this process.

    Attributes:
        command: The program, a path or a name in `PATH`.
        args: Its arguments. They appear in no error and in no log.
        env: Further environment variables. They appear in no error and in no log.
        cwd: Its folder; None: that of this process.
    """

    command: str
    args: Sequence[str] = field(default=(), repr=False)
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: StrPath | None = None

    def __post_init__(self) -> None:
        string("command", self.command)
        if isinstance(self.args, str) or not isinstance(self.args, Sequence):
            raise wrong_type("args", self.args, "a list of str")
        object.__setattr__(self, "args", tuple(_text(f"args[{at}]", one) for at, one in enumerate(self.args)))
        for name, value in _pairs("env", self.env):
            if not name or "=" in name:
                raise ArgumentError(f"invalid env '{name}': expected a name without '='")
            _text(f"env['{name}']", value)
        if self.cwd is not None:
            string("cwd", os.fspath(self.cwd))

    @property
    def kind(self) -> str:
        """How it is spoken to."""
        return "stdio"

    @property
    def where(self) -> str:
        """Where it is, for errors."""
        return f"program '{os.path.basename(self.command)}'"

    def secrets(self) -> Iterator[str]:
        """Returns what no error and no log may hold."""
        named = list((self.env or {}).items())
        for word, following in zip(self.args, (*self.args[1:], ""), strict=False):
            name, equals, value = word.partition("=")
            named.append((name, value if equals else following if name.startswith("-") else ""))
        for name, value in named:
            if _SECRET.search(name) and len(value) >= _MIN_SECRET:
                yield value


@dataclass(frozen=True)
class _Address:
    url: str = field(repr=False)
    bearer_token: str | None = field(default=None, repr=False, kw_only=True)
    headers: Mapping[str, str] | None = field(default=None, repr=False, kw_only=True)

    def _check(self, schemes: tuple[str, str]) -> None:
        if not isinstance(self.url, str):
            raise wrong_type("url", self.url, "a str")
        try:
            parts = urlsplit(self.url)
            bad = parts.scheme not in schemes or not parts.hostname or parts.port == 0
        except ValueError:
            bad = True
        if bad or re.search(r"[\0-\x20\x7f]", self.url):
            raise ArgumentError(f"invalid url: expected '{schemes[0]}://...' or '{schemes[1]}://...'")
        if parts.username is not None or parts.password is not None:
            raise ArgumentError("invalid url: expected one without a user; pass bearer_token or headers")
        if self.bearer_token is not None:
            _header("bearer_token", self.bearer_token)
            if " " in self.bearer_token:
                raise ArgumentError('invalid bearer_token: expected one without spaces and without "Bearer"')
        for name, value in _pairs("headers", self.headers):
            if not _FIELD.fullmatch(name):
                raise ArgumentError(f"invalid headers: expected names of header fields, not {name!r}")
            _header(f"headers['{name}']", value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.where!r})"

    @property
    def where(self) -> str:
        """Where it is, for errors: without the query."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    @property
    def secure(self) -> bool:
        """True if the connection is encrypted."""
        return urlsplit(self.url).scheme in ("https", "wss")

    def fields(self) -> dict[str, str]:
        """Returns the header fields of each request."""
        found = dict(self.headers or {})
        if self.bearer_token is not None:
            found = {name: value for name, value in found.items() if name.lower() != "authorization"}
            found["Authorization"] = f"Bearer {self.bearer_token}"
        return found

    def secrets(self) -> Iterator[str]:
        """Returns what no error and no log may hold."""
        if self.bearer_token is not None:
            yield self.bearer_token
        query = urlsplit(self.url).query
        for value in [*(self.headers or {}).values(), query, *re.findall(r"=([^&]+)", query)]:
            if len(value) >= _MIN_SECRET:
                yield value


@dataclass(frozen=True, repr=False)
class McpHttp(_Address):
    """A server that speaks MCP over HTTP (streamable HTTP). Redirects to other hosts are not followed.

    Attributes:
        url: Address, "http://..." or "https://...". Errors and logs have it without its query.
        bearer_token: Token of each request. It appears in no error and in no log.
        headers: Header fields of each request. They appear in no error and in no log.
    """

    def __post_init__(self) -> None:
        self._check(("http", "https"))

    @property
    def kind(self) -> str:
        """How it is spoken to."""
        return "http"


@dataclass(frozen=True, repr=False)
class McpWebSocket(_Address):
    """A server that speaks MCP over WebSocket, with the subprotocol "mcp". Redirects are not followed.

    Attributes:
        url: Address, "ws://..." or "wss://...". Errors and logs have it without its query.
        bearer_token: Token of the handshake. It appears in no error and in no log.
        headers: Header fields of the handshake. They appear in no error and in no log.
    """

    def __post_init__(self) -> None:
        self._check(("ws", "wss"))

    @property
    def kind(self) -> str:
        """How it is spoken to."""
        return "websocket"


Source = McpProcess | McpHttp | McpWebSocket


def _pairs(name: str, given: Any) -> list[tuple[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for one in given):
        raise TypeError(f"invalid {name}: expected a mapping of str")
    return list(given.items())


def _text(name: str, value: Any) -> str:
    """Returns a text without NUL. The error does not show it: it may be a secret."""
    if not isinstance(value, str):
        raise TypeError(f"invalid {name}: expected a str, not {type(value).__name__}")
    if "\0" in value:
        raise ArgumentError(f"invalid {name}: expected text without NUL")
    return value


def _header(name: str, value: Any) -> None:
    text = _text(name, value)
    if not text or not text.isascii() or not text.isprintable():
        raise ArgumentError(f"invalid {name}: expected printable ASCII text")
