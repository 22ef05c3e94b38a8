"""Relays the response of a workload to a client, as bytes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import anyio
import httpx2
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .errors import Refusal
from .resuming import Broken, Resumption
from .usage import Tail

_RETURNED = ("content-type", "x-session-id", "retry-after", "cache-control", "x-should-retry")


def unreachable(error: Exception | None = None) -> Refusal:
    """Returns the refusal of a request whose workload cannot be reached."""
    what = "" if error is None else f" ({type(error).__name__})"
    return Refusal(503, f"the workload cannot be reached{what}; it may be restarting", None, 1)


class Exchange:
    """A request to a workload, and its response.

    Attributes:
        tail: Receives the bytes of the response.
        resumption: Completes the answer at another replica; None: it is not resumed.

    Args:
        send: Sends the request.
        tail: As the attribute.
        ended: Receives the tail, and whether the request failed.
        resumption: As the attribute.
    """

    def __init__(
        self,
        send: Callable[[], Awaitable[httpx2.Response]],
        tail: Tail,
        ended: Callable[[Tail, bool], None],
        resumption: Resumption | None = None,
    ) -> None:
        self.tail, self.resumption = tail, resumption
        self._send, self._ended = send, ended
        self._response: httpx2.Response | None = None
        self._open = True

    async def send(self) -> httpx2.Response:
        """Sends the request. Returns the response, whose body is unread.

        Raises:
            Refusal: 503: the workload cannot be reached.
        """
        try:
            self._response = await self._send()
        except (httpx2.TransportError, OSError) as error:
            if self.resumption is None:
                raise unreachable(error) from None
            self._response = await self.resumption.whole()
        return self._response

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body of the response; raises `Broken` if it breaks off."""
        response = self._response
        assert response is not None
        streamed = "event-stream" in response.headers.get("content-type", "")
        plain = response.status_code == 200 and "content-encoding" not in response.headers
        if self.resumption is not None and streamed and plain:
            found = self.resumption.events(response)
        else:
            found = response.aiter_raw()
        try:
            async for piece in found:
                self.tail.add(piece)
                yield piece
        except httpx2.TransportError as error:
            raise Broken(f"the workload closed the connection ({type(error).__name__})") from error

    async def end(self, *, failed: bool) -> None:
        """Closes the connection unless the response was read, and counts. A second call does nothing."""
        if not self._open:
            return
        self._open = False
        self._ended(self.tail, failed)
        with anyio.CancelScope(shield=True), suppress(Exception):
            if self._response is not None:
                await self._response.aclose()
            if self.resumption is not None:
                await self.resumption.close()


class Relay(Response):
    """A response whose bytes come from a workload. A client that leaves ends the request there."""

    def __init__(self, response: httpx2.Response, exchange: Exchange, timeout: float) -> None:
        headers = {name: response.headers[name] for name in _RETURNED if name in response.headers}
        super().__init__(status_code=response.status_code, headers=headers)
        del self.headers["content-length"]
        if "content-length" in response.headers and "content-encoding" not in response.headers:
            self.headers["content-length"] = response.headers["content-length"]
        self._response, self._exchange, self._timeout = response, exchange, timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response."""
        failed = True
        try:
            async with anyio.create_task_group() as group:

                async def watch() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()

                group.start_soon(watch)
                with anyio.move_on_after(self._timeout):
                    failed = not await self._send(send) or self.status_code >= 400
                group.cancel_scope.cancel()
        finally:
            await self._exchange.end(failed=failed)

    async def _send(self, send: Send) -> bool:
        """Sends the response. Returns False if it broke off."""
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        whole = True
        try:
            async for piece in self._exchange.pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except Broken as error:
            if "event-stream" not in self.headers.get("content-type", ""):
                raise
            whole = False
            told = {"error": {"code": 502, "message": Refusal(502, str(error)).body()["message"]}}
            event = f"data: {json.dumps(told)}\n\n".encode()
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return whole
