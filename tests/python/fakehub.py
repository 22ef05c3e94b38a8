"""A Hugging Face hub on this machine: lists repositories, serves files, and fails as it is told."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """`files` of each repository, and what was asked for. Use it as a context manager.

    cut        after how many bytes the next transfers break off, one number a transfer
    surplus    bytes that a file is said to have and has not
    damaged    whether files arrive with their first byte changed
    status     what to answer everything with
    pause      seconds between the pieces of a file
    headers    what files' answers say otherwise; None leaves a header out
    flood      bytes that follow each file's own
    answers    what to answer to a path: a status, a body and headers
    tokens     what was handed over with each request, None for nothing
    """

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.asked: list[str] = []
        self.ranges: list[str] = []
        self.cut: list[int] = []
        self.surplus = 0
        self.damaged = False
        self.status = 0
        self.pause = 0.0
        self.headers: dict[str, str | None] = {}
        self.flood = 0
        self.answers: dict[str, tuple[int, bytes, dict[str, str]]] = {}
        self.tokens: list[str | None] = []
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FakeHub:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def gets(self) -> list[str]:
        """The paths of the GETs since last asked."""
        gets = [path for path in self.asked if path.startswith("GET ")]
        self.asked.clear()
        return gets


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is nothing to talk about."""


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.asked.append(f"{self.command} {path}")
            hub.tokens.append(self.headers.get("Authorization"))
            if answer := hub.answers.get(path):
                return self.send(answer[0], answer[1], **answer[2])
            if hub.status:
                return self.send(hub.status, b"out of order")
            if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/[^/]+", path):
                return self.tree(hub.files.get(found[1]))
            if found := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
                return self.file(hub.files.get(found[1]), found[2])
            self.send(404, b"no such page")

        def tree(self, files: dict[str, bytes] | None) -> None:
            if files is None:
                return self.send(404, b"{}", **{"X-Error-Code": "RepoNotFound"})
            listed = [
                {"type": "file", "oid": COMMIT, "size": len(data), "path": name}
                for name, data in files.items()
            ]
            self.send(200, json.dumps(listed).encode(), **{"Content-Type": "application/json"})

        def file(self, files: dict[str, bytes] | None, name: str) -> None:
            if files is None or name not in files:
                code = "RepoNotFound" if files is None else "EntryNotFound"
                return self.send(404, b"", **{"X-Error-Code": code, "X-Repo-Commit": COMMIT})
            data = files[name]
            headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha256(data).hexdigest()}"'}
            begin = 0
            if asked := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
                begin = int(asked[1])
                hub.ranges.append(self.headers["Range"])
                headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
            if hub.damaged:
                data = bytes([data[0] ^ 1]) + data[1:]
            headers |= hub.headers
            if self.command == "GET":
                data += b"!" * hub.flood
            self.send(206 if begin else 200, data[begin:], surplus=hub.surplus, **headers)

        def send(self, status: int, data: bytes, *, surplus: int = 0, **headers: Any) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": len(data) + surplus, **headers}.items():
                if value is not None:
                    self.send_header(key, str(value))
            self.end_headers()
            if self.command == "HEAD":
                return
            if status in (200, 206) and hub.cut and "ETag" in headers:
                data = data[: hub.cut.pop(0)]
                surplus = 1
            pieces = range(0, len(data), 8192) if hub.pause else ()
            for begin in pieces:
                self.wfile.write(data[begin : begin + 8192])
                sleep(hub.pause)
            self.wfile.write(data if not pieces else b"")
            if surplus:
                self.close_connection = True

        def log_message(self, *args: Any) -> None:
            pass

    return Handler
