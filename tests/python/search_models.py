"""What tests of searches and routers share: a double of an embedding model, and a web on loopback."""

from __future__ import annotations

import hashlib
import json
import math
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sotto.backends import Model, ModelInfo, Request

DIM = 256


class Topics(Model):
    """A double of an embedding model: the words of one topic have the same vector.

    `texts` are those that were embedded.
    """

    info = ModelInfo(weights=1)

    def __init__(self, *topics: str, dim: int = DIM) -> None:
        self.topics = [set(one.split()) for one in topics]
        self.dim = dim
        self.texts: list[str] = []
        self.wait = threading.Event()
        self.wait.set()

    def vector(self, text: str) -> list[float]:
        vector = [0.001] * self.dim
        for word in "".join(one if one.isalnum() else " " for one in text.lower()).split():
            found = [at for at, topic in enumerate(self.topics) if word in topic]
            place = found[0] if found else hashlib.sha256(word.encode()).digest()[0] % self.dim
            vector[place] += 1
        length = math.hypot(*vector)
        return [one / length for one in vector]

    def embed(self, request: Request) -> Iterator[Any]:
        self.wait.wait(60)
        self.texts += request.inputs
        yield from ()
        data = [{"index": at, "embedding": self.vector(text)} for at, text in enumerate(request.inputs)]
        return {"data": data}  # type: ignore[return-value]


class Page:
    """What the double of the web answers at one path."""

    def __init__(self, body: bytes | str, kind: str = "text/html; charset=utf-8", status: int = 200) -> None:
        self.body = body.encode() if isinstance(body, str) else body
        self.headers = {"content-type": kind}
        self.status = status
        self.wait = threading.Event()
        self.wait.set()


class Web:
    """A double of a SearXNG server, and of web pages, on loopback. `got`: path, query and headers."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.pages: dict[str, Page] = {}
        self.got: list[tuple[str, dict[str, str], dict[str, str]]] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {name: one[0] for name, one in parse_qs(parts.query).items()}
                web.got.append((parts.path, query, {name.lower(): one for name, one in self.headers.items()}))
                page = web.pages.get(parts.path) or Page("no such page", status=404)
                page.wait.wait(60)
                try:
                    self.send_response(page.status)
                    for name, value in page.headers.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(page.body)))
                    self.end_headers()
                    self.wfile.write(page.body)
                except OSError:  # the client has had enough
                    self.close_connection = True

            def log_message(self, *_: Any) -> None: ...

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None: ...  # a refused certificate

        self._http = Quiet(("127.0.0.1", 0), Handler)
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()

    def find(self, *results: dict[str, Any]) -> None:
        """Lets every search find these results."""
        self.pages["/search"] = Page(json.dumps({"query": "q", "results": list(results)}), "application/json")

    def paths(self) -> list[str]:
        return [one[0] for one in self.got]

    def close(self) -> None:
        for page in self.pages.values():
            page.wait.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
