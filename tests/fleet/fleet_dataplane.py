"""A replica of the data plane for tests: the real address and store, before an application of the test."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import httpx2
from starlette.types import Message, Receive, Scope, Send

from sotto.fleet.control.placement import Deployment
from sotto.fleet.control.settings import ControlSettings
from sotto.fleet.dataplane import Endpoint

T = TypeVar("T")
USAGE = {"prompt_tokens": 7, "completion_tokens": 3}


class Answers:
    """Answers requests as an engine would, and records their bodies.

    Attributes:
        bodies: What came, parsed.
        hold: While it is not set, a stream waits after its first event.
        status: Of each answer.
    """

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.hold = asyncio.Event()
        self.status = 200

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in ("/ready", "/health"):
            await _send(send, 200, [b"{}"])
            return
        data, more = b"", True
        while more:
            message = await receive()
            data += message.get("body", b"")
            more = message.get("more_body", False)
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        assert int(length) == len(data)
        body = json.loads(data) if data else {}
        self.bodies.append(body)
        if not body.get("stream"):
            await _send(send, self.status, [json.dumps({"usage": USAGE}).encode()])
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send(_piece(b'data: {"choices": []}\n\n', more=True))
        await self.hold.wait()
        await send(_piece(f"data: {json.dumps({'usage': USAGE})}\n\n".encode(), more=True))
        await send(_piece(b"data: [DONE]\n\n", more=False))


class Replica:
    """An `Endpoint` on an event loop of its own. Used in a `with` statement.

    Attributes:
        app: What answers.
        endpoint: The endpoint.
    """

    def __init__(self, database: str, deployment: Deployment, node: str = "a", **settings: Any) -> None:
        self._database, self._node = database, node
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.app = Answers()
        self.endpoint = Endpoint(self.app, deployment, ControlSettings(**settings))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def release(self) -> None:
        """Lets streams end."""
        self._loop.call_soon_threadsafe(self.app.hold.set)

    def ask(self, key: str | None, path: str = "/v1/chat/completions", body: Any = None) -> httpx2.Response:
        """Sends a request. Returns the response."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        with httpx2.Client(trust_env=False, timeout=30) as http:
            return http.post(self.url + path, headers=headers, json=body or {"messages": []})

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.endpoint.place.port}"

    def stop(self, drain: float) -> None:
        """Ends the endpoint."""
        self.run(self.endpoint.stop(drain))

    def __enter__(self) -> Replica:
        self._thread.start()
        self.run(self.endpoint.start(self._database, self._node, "127.0.0.1"))
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()
        self.stop(5.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()


async def _send(send: Send, status: int, pieces: list[bytes]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    for piece in pieces:
        await send(_piece(piece, more=True))
    await send(_piece(b"", more=False))


def _piece(data: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}
