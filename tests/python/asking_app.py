"""Requests to a server's application without a socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any


async def ask(served: Any, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    """Returns the status and the body of the response."""
    told: dict[str, Any] = {"status": 0, "body": b""}
    data = b"" if body is None else json.dumps(body).encode()
    messages = [{"type": "http.request", "body": data, "more_body": False}]

    async def receive() -> Any:
        return messages.pop() if messages else await asyncio.Future()

    async def send(message: Any) -> None:
        told["status"] = message.get("status", told["status"])
        told["body"] += message.get("body", b"")

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    method = "GET" if body is None else "POST"
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "query_string": b""}
    await served(scope, receive, send)
    return told["status"], told["body"].decode()
