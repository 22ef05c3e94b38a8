"""What a request passes before its route: the checks of its host and of its key."""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Iterable, Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .errors import HttpError
from .shapes import Shape

log = logging.getLogger("sotto.server")
_PLAIN = Shape()
OPEN_PATHS = frozenset({"/", "/health", "/ready", "/v1/health"})  # need no key


class Gate:
    """Refuses requests for other hosts (403), with several hosts (400) and without a valid key (401).

    `shapes`: the form of errors, by path; OpenAI's for others.
    """

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], keys: Iterable[str], shapes: Mapping[str, Shape]
    ) -> None:
        self._app = app
        self._shapes = shapes
        self._hosts = frozenset(host.lower() for host in hosts)
        self._keys = tuple(key.encode() for key in keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or refuses it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        refusal = self._refusal(path, headers)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await respond(refusal, send, self._shapes.get(path, _PLAIN))

    def _refusal(self, path: str, headers: Headers) -> HttpError | None:
        hosts = headers.getlist("host")
        if len(hosts) > 1:
            return HttpError(400, "invalid header Host: expected one, found several")
        host = hosts[0] if hosts else ""
        if "*" not in self._hosts and _name(host) not in self._hosts:
            return HttpError(
                403, f"this server does not answer for host '{host[:100]}'; admit it with --allow-host"
            )
        if not self._keys or path in OPEN_PATHS or self._admits(headers):
            return None
        return HttpError(401, "Invalid API Key", headers={"WWW-Authenticate": "Bearer"})

    def _admits(self, headers: Headers) -> bool:
        given = headers.get("authorization") or headers.get("x-api-key") or ""
        key = given.removeprefix("Bearer ").encode()
        return sum(hmac.compare_digest(key, known) for known in self._keys) > 0  # compares with all of them


async def respond(error: HttpError, send: Send, shape: Shape) -> None:
    """Sends the response of an error."""
    body = json.dumps(shape.error(error), ensure_ascii=False).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **error.headers}
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": error.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def read_keys(text: str) -> tuple[str, ...]:
    """Returns the keys of a key file: one in a line; empty lines and lines that begin with # are none."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _name(host: str) -> str:
    """Returns the name in a header `Host`, without the port."""
    name, colon, port = host.lower().rpartition(":")
    if colon and port.isdecimal() and (":" not in name or name.endswith("]")):
        return name
    return host.lower()
