"""An OpenAI-compatible server on this machine that records what it is asked, and answers as a test wants."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KEY = "sk-secret-0123456789abcdef"


@dataclass
class Asked:
    """One request, as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    raw: bytes


class Reply:
    """What a test's answer writes to its connection."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        self.socket: socket.socket = handler.connection

    def begin(self, status: int = 200, type_: str = "text/event-stream", **headers: str) -> None:
        """Writes the status and the headers of a response that ends with its connection."""
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", type_)
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()

    def write(self, data: str | bytes) -> None:
        """Writes a part of the body."""
        self._handler.wfile.write(data.encode() if isinstance(data, str) else data)
        self._handler.wfile.flush()

    def event(self, chunk: Any) -> None:
        """Writes a server-sent event."""
        self.write(f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n\n")

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        """Writes a whole JSON response."""
        self.begin(status, "application/json", **headers)
        self.write(json.dumps(value))

    def chat(self, words: Iterable[str], finish: str | None = "stop", **usage: Any) -> None:
        """Writes a stream of chat chunks. `finish` None: the connection closes before the end."""
        self.begin()
        self.event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        for word in words:
            self.event({"choices": [{"index": 0, "delta": {"content": word}}]})
        if finish is None:
            return
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        self.event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, **usage}})
        self.event("[DONE]")


Answer = Callable[[Asked, Reply], None]


def hello(_: Asked, reply: Reply) -> None:
    """Answers a chat with "hello there"."""
    reply.chat(["hello", " there"])


@dataclass
class RemoteServer:
    """A server on a free port. `answer` may be replaced at any time."""

    answer: Answer = hello
    tls: tuple[Path, Path] | None = None  # certificate and key
    asked: list[Asked] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)  # when a handler found its connection closed

    def __post_init__(self) -> None:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = json.loads(raw) if raw else None
                server.asked.append(Asked(self.command, self.path, dict(self.headers), body, raw))
                try:
                    server.answer(server.asked[-1], Reply(self))
                except OSError:
                    server.ended.append(time.monotonic())

            do_GET = do_POST

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that does not trust the certificate ends the handshake

        self._http = Quiet(("127.0.0.1", 0), Handler)
        if self.tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.tls)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Address of the API."""
        return f"{'http' if self.tls is None else 'https'}://127.0.0.1:{self._http.server_port}/v1"

    @property
    def last(self) -> Asked:
        """The request that arrived last."""
        return self.asked[-1]

    def close(self) -> None:
        """Ends the server."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def until_closed(reply: Reply, seconds: float = 10) -> bool:
    """Waits until the client closes the connection. Returns False if it does not."""
    reply.socket.settimeout(seconds)
    try:
        return reply.socket.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
