"""Sockets and HTTP connections: how they are opened, and what a client may not do to them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import stat
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import ArgumentError

HEADER_TIMEOUT = 10.0  # seconds in which the headers of a request have to arrive
MAX_HEADER_BYTES = 64 << 10
LINGER = 5.0  # seconds for the rest of a body whose request was answered before it had arrived


def open_port(host: str, port: int) -> socket.socket:
    """Returns a listening socket. `port` 0: any free port.

    Raises:
        ArgumentError: the address does not exist here, or another program listens on the port.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, proto)
    except OSError as error:
        raise ArgumentError(f"invalid --host '{host}': {error.strerror or error}") from None
    try:
        if os.name != "nt":  # on Windows, this would let two servers share a port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(2048)
    except OSError as error:
        made.close()
        other = "--host" if error.errno == errno.EADDRNOTAVAIL else "--port"
        raise ArgumentError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; choose another with {other}"
        ) from None
    return made


def open_unix(path: Path) -> socket.socket:
    """Returns a socket that listens at `path`, which this user alone may open.

    A socket that a server left behind is replaced.

    Raises:
        ArgumentError: another server answers there, or the file is no socket or cannot be made.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists():
            _remove_stale(path)
        before = os.umask(0o177)
        try:
            made.bind(str(path))
        finally:
            os.umask(before)
        made.listen(2048)
    except OSError as error:
        made.close()
        raise ArgumentError(f"cannot listen at --uds '{path}': {error.strerror or error}") from None
    return made


def _remove_stale(path: Path) -> None:
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise OSError("the file exists and is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.settimeout(1)
        try:
            other.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError("another server answers there")


class Connection(HttpToolsProtocol):
    """A connection that is closed if its client is too slow: with headers, a body, or with reading.

    Attributes:
        write_timeout: Seconds for which a client may leave a full socket unread.
    """

    write_timeout = 30.0
    _waiting: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None
    _lingering: asyncio.TimerHandle | None = None
    _header_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Begins to wait for headers."""
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends all waits."""
        for timer in ("_waiting", "_stuck", "_lingering"):
            self._stop(timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parses data; counts it while headers are incomplete."""
        if self._waiting is not None:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._waiting is not None and self._header_bytes > MAX_HEADER_BYTES:
            self._refuse()

    def on_message_begin(self) -> None:
        """Begins to wait for the headers of a further request."""
        if self._waiting is None:
            self._await_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Ends the wait for headers. An exception of this function becomes status 400."""
        self._stop("_waiting")
        if sum(len(name) + len(value) + 4 for name, value in self.headers) > MAX_HEADER_BYTES:
            raise ValueError("the headers are too long")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Ends the wait for the rest of a body."""
        self._stop("_lingering")
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Limits the time for the rest of a body, and for reading the rest of the response."""
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            self._lingering = self.loop.call_later(LINGER, self.transport.close)
        if self._stuck is None and self.transport.get_write_buffer_size() > 0:
            self._stuck = self.loop.call_later(self.write_timeout, self._abort_unread)

    def pause_writing(self) -> None:
        """Limits the time in which the client has to read."""
        super().pause_writing()
        self._stop("_stuck")
        self._stuck = self.loop.call_later(self.write_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """Ends the limit."""
        self._stop("_stuck")
        super().resume_writing()

    def _abort_unread(self) -> None:
        self._stuck = None
        if self.transport.get_write_buffer_size() > 0:
            self.transport.abort()

    def _await_headers(self) -> None:
        self._header_bytes = 0
        self._waiting = self.loop.call_later(HEADER_TIMEOUT, self._refuse)

    def _refuse(self) -> None:
        self._stop("_waiting")
        self.transport.close()

    def _stop(self, timer: str) -> None:
        handle = getattr(self, timer)
        if handle is not None:
            handle.cancel()
            setattr(self, timer, None)


def connection(write_timeout: float) -> type[Connection]:
    """Returns `Connection` with this `write_timeout`."""
    return type("Connection", (Connection,), {"write_timeout": write_timeout})


def configuration(
    application: ASGIApp, write_timeout: float, certificate: tuple[Path, Path | None] | None
) -> uvicorn.Config:
    """Returns how a `Listener` serves an application.

    Args:
        application: The application, which has no lifespan.
        write_timeout: As for `connection()`.
        certificate: Files of a certificate chain and its key, in PEM; None: no TLS.

    Raises:
        ArgumentError: the certificate or its key cannot be read.
    """
    chain, key = certificate or (None, None)
    made = uvicorn.Config(
        application,
        http=connection(write_timeout),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=3,  # seconds for the last words; all answers were ended before
        ssl_certfile=chain,
        ssl_keyfile=key,
    )
    try:
        made.load()
    except OSError as error:  # ssl.SSLError is one
        if chain is None:
            raise
        raise ArgumentError(
            f"invalid TLS certificate '{chain}' with key '{key}': "
            f"expected a chain and its key in PEM files ({error.strerror or error})"
        ) from None
    return made


class Listener(uvicorn.Server):
    """A uvicorn server that goes on while `leaving` runs; its process exits with status 0.

    The first SIGINT or SIGTERM starts `leaving`, and the server shuts down when it returns. Until then, the
    application can refuse requests with status 503. The second SIGINT ends what still runs.
    """

    def __init__(self, config: uvicorn.Config, leaving: Callable[[], Coroutine[Any, Any, None]]) -> None:
        super().__init__(config)
        self._leaving = leaving
        self._leave: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handles SIGINT and SIGTERM while the server runs."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {
            number: signal.signal(number, lambda number, _: loop.call_soon_threadsafe(self._told, number))
            for number in signals
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self._leave is not None:
                self._leave.cancel()

    def _told(self, number: int) -> None:
        if self._leave is None:
            self._leave = asyncio.ensure_future(self._leaving())
            self._leave.add_done_callback(lambda _: self.handle_exit(signal.SIGTERM, None))
        elif number == signal.SIGINT:
            self.handle_exit(number, None)
            self.handle_exit(number, None)
