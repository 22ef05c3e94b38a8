"""The server's log: one line for each request and event, without what was said."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Literal

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .tracing import incoming

log = logging.getLogger("sotto.server.access")
_QUIET = frozenset({"/health", "/ready", "/v1/health", "/metrics", "/api/overview"})  # asked all the time
_REQUEST: ContextVar[str] = ContextVar("request_id", default="")


def request_id() -> str:
    """Returns the id of the request that this task answers; "" outside of one."""
    return _REQUEST.get()


def prepare(form: Literal["text", "json"]) -> None:
    """Directs the log to stderr, as text or as one JSON object for each line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if form == "json" else _Lines())
    for name in ("sotto", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
    logging.getLogger("sotto").setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


class _Lines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class AccessLog:
    """Logs method, path, status and duration of each request when its response ends, and counts it.

    Gives each request an id, which its response carries as `x-request-id` (OpenAI) and `request-id`
    (Anthropic), and its line in the log.
    """

    def __init__(self, app: ASGIApp, count: Callable[[str, str, int], None]) -> None:
        self._app = app
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, and logs its end."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        name = f"req_{os.urandom(12).hex()}"
        _REQUEST.set(name)
        carried = [(b"x-request-id", name.encode()), (b"request-id", name.encode())]

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), *carried]}
            await send(message)

        try:
            with incoming(scope):
                await self._app(scope, receive, observed)
        finally:
            self._count(scope["method"], getattr(scope.get("route"), "path", ""), status)
            if scope["path"] not in _QUIET:
                self._write(scope, status, began, name)

    @staticmethod
    def _write(scope: Scope, status: int, began: float, name: str) -> None:
        fields = {
            "method": scope["method"],
            "path": scope["path"][:200],
            "status": status,
            "ms": round(1000 * (time.perf_counter() - began), 1),
            "request_id": name,
        }
        what = json.dumps("{method} {path}".format(**fields))[1:-1]  # control characters escaped
        log.info("%s %s in %s ms", what, status, fields["ms"], extra={"fields": fields})
