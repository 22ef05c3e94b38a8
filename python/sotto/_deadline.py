"""A limit for a whole request: every wait on a socket ends at the same point in time.

httpx2 limits each connect, write and read, so that a server which sends byte by byte extends a request
without end. `DeadlineTransport` takes a `Deadline` in place of these limits, and waits for the rest of it.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Any

import httpcore2
import httpx2

KEEP_ALIVE = 2.0  # seconds that an idle connection may be reused; llama-server closes it after 5
_WRITE = 1 << 16  # bytes that one write passes to the socket


class Deadline(float):
    """A duration in seconds that started when the object was created."""

    end: float

    def __new__(cls, seconds: float) -> Deadline:
        deadline = super().__new__(cls, seconds)
        deadline.end = monotonic() + seconds
        return deadline

    def left(self) -> float:
        """Returns the rest in seconds: negative after the deadline."""
        return self.end - monotonic()

    def extensions(self) -> dict[str, Any]:
        """Returns the extensions of an httpx2 request that has this deadline."""
        return {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), self)}


def _left(timeout: float | None, error: type[Exception]) -> float | None:
    if not isinstance(timeout, Deadline):
        return timeout
    left = timeout.left()
    if left <= 0:
        raise error("deadline exceeded")
    return left


class _Stream(httpcore2.NetworkStream):
    """A connection whose waits end at the deadline."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for begin in range(0, len(buffer), _WRITE):
            self._stream.write(buffer[begin : begin + _WRITE], _left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        found = self._stream.get_extra_info("socket")
        if isinstance(found, socket.socket):
            with suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)  # wakes a thread that reads from the connection
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore2.NetworkBackend):
    """Opens connections whose waits end at the deadline."""

    def __init__(self) -> None:
        self._backend = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._backend.connect_tcp(host, port, left, local_address, socket_options))


class _Content(httpx2.SyncByteStream):
    """The body of a response. Closing it closes the connection unless the body was read to its end."""

    def __init__(self, content: Any) -> None:
        self._content = content

    def __iter__(self) -> Iterator[bytes]:
        yield from self._content

    def close(self) -> None:
        self._content.close()


class DeadlineTransport(httpx2.BaseTransport):
    """HTTP/1.1 over pooled connections, without proxies. Raises the exceptions of httpcore2."""

    def __init__(self, ssl_context: ssl.SSLContext | None) -> None:
        self._pool = httpcore2.ConnectionPool(
            ssl_context=ssl_context,
            max_connections=None,
            max_keepalive_connections=20,
            keepalive_expiry=KEEP_ALIVE,
            network_backend=_Backend(),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request, and returns its response with the body unread."""
        url = request.url
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        response = self._pool.handle_request(
            httpcore2.Request(
                method=request.method,
                url=target,
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx2.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Content(response.stream),
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Closes all connections."""
        self._pool.close()
