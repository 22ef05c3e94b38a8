"""Upstreams of an ingress: replicas that answer with their names, in threads of this process."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sotto.fleet.ingress import HaProxy, IngressSettings, Replica, Route

QUICK = {"check_interval": 0.1, "check_timeout": 0.5, "fall": 2, "rise": 1}


class Upstream(ThreadingHTTPServer):
    """A replica.

    Attributes:
        name: What it answers.
        ready: Status of `/ready`.
        seen: Paths of requests.
    """

    daemon_threads, request_queue_size = True, 256

    def __init__(self, name: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.name, self.ready, self.seen = name, 200, list[str]()

    @property
    def replica(self) -> Replica:
        """Its entry in a route."""
        return Replica(self.name, "127.0.0.1", self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    server: Upstream
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/ready":
            self._answer(self.server.ready, "")
        else:
            self._answer(200, self.server.name)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.seen.append(self.path)
        if self.path.endswith("/slow"):  # a stream of 20 parts
            self.send_response(200)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for _ in range(20):
                self.wfile.write(b"2\r\nx \r\n")
                time.sleep(0.05)
            self.wfile.write(b"0\r\n\r\n")
        elif self.path.endswith("/vanish"):
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        else:
            self._answer(200, self.server.name)

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # the ingress ended
            super().handle()

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@contextmanager
def upstreams(*names: str) -> Iterator[list[Upstream]]:
    """Starts replicas."""
    with ExitStack() as stack:
        made = []
        for name in names:
            one = stack.enter_context(Upstream(name))
            threading.Thread(target=one.serve_forever, args=(0.02,), daemon=True).start()
            stack.callback(one.shutdown)
            made.append(one)
        yield made


class Ingress:
    """An ingress that a test drives without an event loop."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.haproxy = HaProxy(folder, IngressSettings(port=self.port, **{**QUICK, **settings}))

    def start(self, *routes: Route) -> None:
        """Starts it."""
        asyncio.run(self.haproxy.start(routes))

    def reload(self, *routes: Route) -> None:
        """Changes its routes."""
        asyncio.run(self.haproxy.reload(routes))

    def up(self) -> set[str]:
        """Returns the replicas that get requests."""
        return {one.name for one in asyncio.run(self.haproxy.servers()) if one.up}

    def ask(self, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        """Sends a request; POST if it has a body. Returns the status and the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            data = None if body is None else json.dumps(body)
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("GET" if body is None else "POST", path, data, given)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def homes(self, count: int, path: str = "/v1/x") -> list[str]:
        """Returns the replica of each of some sessions."""
        return [self.ask(path, x_session_id=f"session-{number}")[1] for number in range(count)]


@contextmanager
def ingress(folder: Path, routes: Sequence[Route], **settings: Any) -> Iterator[Ingress]:
    """Starts an ingress, and ends it."""
    made = Ingress(folder, **settings)
    try:
        made.start(*routes)
        yield made
    finally:
        asyncio.run(made.haproxy.stop(0.1))
