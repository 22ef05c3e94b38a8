"""`Cors`: headers for web pages, as llama-server sends them."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class _Cased(bytes):
    """A header's name that uvicorn sends as it is written: some clients compare these names exactly."""

    def lower(self) -> bytes:
        """Returns the name unchanged."""
        return self


_FRAMING = frozenset({b"content-length", b"transfer-encoding", b"connection"})  # uvicorn reads these names


def _cased(name: bytes) -> bytes:
    return name if name.lower() in _FRAMING else _Cased(name.title())


class Cors:
    """Lets web pages read answers, and answers their preflight requests without a key."""

    def __init__(self, app: ASGIApp, origins: str, methods: str, headers: str, credentials: bool) -> None:
        self._app = app
        self._origins = origins
        self._preflight = {
            "Access-Control-Allow-Credentials": "true" if credentials else "false",
            "Access-Control-Allow-Methods": methods,
            "Access-Control-Allow-Headers": headers,
        }
        self._credentials = credentials

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or answers a preflight request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        origin = Headers(scope=scope).get("origin", "")
        added = [(_Cased(b"Access-Control-Allow-Origin"), allowed.encode("latin-1"))] if (
            allowed := self._allowed(origin)
        ) else []  # fmt: skip
        if scope["method"] == "OPTIONS":
            added += [(_Cased(name.encode()), value.encode()) for name, value in self._preflight.items()]
            head = {
                "type": "http.response.start",
                "status": 200,
                "headers": [*added, (b"content-length", b"0")],
            }
            await send(head)
            await send({"type": "http.response.body", "body": b""})
            return

        async def extended(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [(_cased(name), value) for name, value in message.get("headers", [])]
                message["headers"] = [*kept, *added]
            await send(message)

        await self._app(scope, receive, extended)

    def _allowed(self, origin: str) -> str:
        if self._origins == "*" and self._credentials:
            return origin
        if self._origins != "localhost":
            return self._origins
        try:
            host = urlsplit(origin).hostname
        except ValueError:
            return ""
        return origin if host in _LOCAL else ""
