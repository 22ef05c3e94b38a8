"""A llama-server's double on this machine: records requests, and answers as each test says."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
}
NATIVE = {"content": " Hi", "stop": True, "stop_type": "eos", "tokens_evaluated": 3, "tokens_predicted": 2}
ANSWERS: dict[str, Any] = {
    "/v1/chat/completions": CHAT,
    "/completion": NATIVE,
    "/infill": NATIVE,
    "/v1/embeddings": {"data": [{"index": 0, "embedding": [1.0, 0.5]}], "model": "m"},
    "/embedding": [{"index": 0, "embedding": [[1.0, 0.5]]}],
    "/tokenize": {"tokens": [1, 2]},
    "/detokenize": {"content": "ab"},
    "/apply-template": {"prompt": "<s>"},
    "/v1/rerank": {"results": [{"index": 0, "relevance_score": 0.25}, {"index": 1, "relevance_score": 0.5}]},
    "/health": {"status": "ok"},
    "/props": {"total_slots": 1},
    "/metrics": "# TYPE a counter\na 1\n",
    "/slots": [{"id": 0, "is_processing": False}],
    "/lora-adapters": [{"id": 0, "path": "a.gguf", "scale": 1.0}],
    "/v1/models": {"data": [{"id": "m"}]},
    "/models/load": {"success": True},
    "/models/unload": {"success": True},
}


class Request(NamedTuple):
    """A request as it came."""

    method: str
    path: str  # with the query
    headers: dict[str, str]  # names in lower case
    body: Any  # parsed JSON; None for no body


class Reply(NamedTuple):
    """What is sent: JSON for an object, else bytes as they are; pieces one by one for an iterable."""

    body: Any
    status: int = 200
    pause: float = 0.0  # seconds before the response, and between its pieces
    headers: dict[str, str] = {}  # noqa: RUF012  # never changed


class MockServer:
    """`replies` by path, else `ANSWERS`. `gone` is set when a client leaves while pieces are being sent."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.replies: dict[str, Reply | Callable[[Request], Reply]] = {}
        self.requests: list[Request] = []
        self.gone = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> MockServer:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def last(self) -> Request:
        """The last request."""
        return self.requests[-1]

    def reply_to(self, request: Request) -> Reply:
        """Returns the reply to a request."""
        path = request.path.partition("?")[0]
        found = self.replies.get(path)
        if found is None:
            if path.startswith("/slots/"):
                return Reply({"id_slot": 0})
            if request.method == "POST" and path in ("/lora-adapters", "/props"):
                return Reply({"success": True})
            return Reply(ANSWERS[path])
        return found if isinstance(found, Reply) else found(request)


def events(*chunks: Any, done: bool = True, newline: str = "\n") -> bytes:
    """Returns chunks as server-sent events."""
    lines = [f"data: {json.dumps(one)}{newline}{newline}" for one in chunks]
    return "".join([*lines, *([f"data: [DONE]{newline}{newline}"] if done else [])]).encode()


def delta(text: str, reason: str | None = None) -> dict[str, Any]:
    """Returns a chunk of a chat."""
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}


def stream(*pieces: bytes, pause: float = 0.0) -> Reply:
    """Returns a reply of server-sent events, sent piece by piece."""
    return Reply(pieces, pause=pause, headers={"Content-Type": "text/event-stream"})


def free_port() -> int:
    """Returns a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may hang up."""


def _handler(server: MockServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def do_PATCH(self) -> None:
            self.answer()

        def do_DELETE(self) -> None:
            self.answer()

        def answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, json.loads(raw) if raw else None)
            server.requests.append(request)
            reply = server.reply_to(request)
            try:
                self.send(reply)
            except OSError:
                server.gone.set()
                self.close_connection = True

        def send(self, reply: Reply) -> None:
            time.sleep(reply.pause)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if isinstance(reply.body, (dict, list)):
                self.whole(json.dumps(reply.body).encode())
            elif isinstance(reply.body, str):
                self.whole(reply.body.encode())
            elif isinstance(reply.body, bytes):
                self.whole(reply.body)
            else:
                self.pieces(reply.body, reply.pause)

        def whole(self, body: bytes) -> None:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def pieces(self, body: Iterable[bytes], pause: float) -> None:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in body:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                time.sleep(pause)
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: Any) -> None:
            """Prints nothing."""

    return Handler
