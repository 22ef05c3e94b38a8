"""Bytes to a server as no client library would send them."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any

import serving


def connect(server: serving.Served, timeout: float = 20.0) -> socket.socket:
    """A connection to the server."""
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout)


def post(body: bytes, path: str = "/v1/chat/completions", *headers: str, host: str = "127.0.0.1") -> bytes:
    """A request."""
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def asked(**fields: Any) -> bytes:
    """The body of a chat request."""
    return json.dumps(
        {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4, **fields}
    ).encode()


def everything(connection: socket.socket) -> bytes:
    """All that arrives until the server closes the connection."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def exchange(server: serving.Served, sent: bytes, timeout: float = 20.0) -> bytes:
    """What the server sends back until it closes the connection."""
    with connect(server, timeout) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)
        return everything(connection)


def statuses(told: bytes) -> list[int]:
    """Statuses of the responses in `told`."""
    return [int(part[:3]) for part in told.split(b"HTTP/1.1 ")[1:]]
