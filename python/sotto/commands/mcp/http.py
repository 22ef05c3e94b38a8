"""Streamable HTTP on loopback, for clients that have the token."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable
from typing import Any


class TokenCheck:
    """Answers with status 401 without the token. An ASGI application around another."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Passes the request on, or refuses it."""
        if scope["type"] == "http" and not self._admits(scope["headers"]):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send(
                {"type": "http.response.body", "body": b"send the header Authorization: Bearer TOKEN\n"}
            )
            return
        await self._app(scope, receive, send)

    def _admits(self, headers: list[tuple[bytes, bytes]]) -> bool:
        given = [value for name, value in headers if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)


async def serve_http(server: Any, port: int, token: str, ready: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM.

    Args:
        server: An `MCPServer`.
        port: Port of 127.0.0.1; 0: a free one.
        token: What clients send as `Authorization: Bearer TOKEN`.
        ready: Gets the address.
    """
    import uvicorn

    with socket.create_server(("127.0.0.1", port)) as taken:
        app = TokenCheck(server.streamable_http_app(host="127.0.0.1"), token)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, ws="none", timeout_graceful_shutdown=5
        )
        ready(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp")
        await uvicorn.Server(config).serve(sockets=[taken])
