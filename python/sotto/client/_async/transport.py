"""Sends the requests of the client for asyncio."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress
from typing import Any

import anyio
import httpx2

from ..._deadline import KEEP_ALIVE, Deadline
from .._json import Answer
from .._wire import MAX_ERROR, MAX_EVENT, MAX_RESPONSE, RETRY_WAITS, UNSENT, Chunks, Endpoint, encode
from ..errors import TransportError


class AsyncStream(AsyncIterator[dict[str, Any]]):
    """Iterates over the chunks of an answer. Closing or dropping it cancels the answer on the server.

    Use it in an `async with` statement unless it is read to its end.
    """

    def __init__(self, response: httpx2.Response, chunks: Chunks, limit: Deadline) -> None:
        self._response, self._chunks, self._limit = response, chunks, limit
        self._events = aiter(httpx2.EventSource(response, MAX_EVENT))
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        with suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()

    async def __anext__(self) -> dict[str, Any]:
        while not self._closed:
            try:
                with self._chunks.failures(float(self._limit)):
                    with anyio.fail_after(self._limit.left()):
                        event = await anext(self._events, None)
                    if event is not None:
                        chunk = self._chunks.read(event.data)
                    else:
                        self._chunks.end()
            except BaseException:
                await self.close()
                raise
            if event is None or self._chunks.done:
                await self.close()
            elif chunk is not None:
                return chunk
        raise StopAsyncIteration

    async def close(self) -> None:
        """Closes the connection, which cancels the rest of the answer. A second call does nothing."""
        if not self._closed:
            self._closed = True
            with anyio.CancelScope(shield=True):
                await self._response.aclose()

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __del__(self) -> None:
        loop = getattr(self, "_loop", None)
        if loop is not None and not self._closed and loop.is_running():
            response = self._response
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(lambda: loop.create_task(response.aclose()))


class AsyncTransport:
    """Connections to one server. Tasks of one event loop may share it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._http = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(
                verify=httpx2.create_ssl_context(verify=endpoint.verify_ssl) if endpoint.encrypted else False,
                limits=httpx2.Limits(
                    max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEEP_ALIVE
                ),
            ),
            headers=endpoint.headers(),
            follow_redirects=False,
            timeout=None,
        )

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: tuple[int, ...] = (200,),
        retry: bool = True,
        timeout: float | None = None,
    ) -> Answer:
        """Sends a request and returns its whole response. Arguments and errors are those of `Transport`."""
        limit = Deadline(self.endpoint.timeout if timeout is None else timeout)
        request = f"{method} {path.partition('?')[0]}"
        content = encode(body)
        with self.endpoint.failures(request, float(limit)), anyio.fail_after(float(limit)):
            response = await self._open(method, path, content, limit, retry)
            try:
                accepted = response.status_code in accept
                most = MAX_RESPONSE if accepted else MAX_ERROR
                data = await _bounded(response.aiter_bytes(), most, not accepted)
            finally:
                await _close(response)
        if not accepted:
            self.endpoint.fail(request, response.status_code, data)
        return Answer(request, response.status_code, data)

    async def stream(self, method: str, path: str, body: Any) -> AsyncStream:
        """Sends a request and returns the stream of its response. Raises as `send()` does."""
        limit = Deadline(self.endpoint.timeout)
        request = f"{method} {path}"
        content = encode(body)
        with self.endpoint.failures(request, float(limit)), anyio.fail_after(float(limit)):
            response = await self._open(method, path, content, limit, True)
            if response.status_code == 200:
                return AsyncStream(response, Chunks(self.endpoint, request), limit)
            try:
                data = await _bounded(response.aiter_bytes(), MAX_ERROR, True)
            finally:
                await _close(response)
        self.endpoint.fail(request, response.status_code, data)

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await anyio.sleep(seconds)

    async def close(self) -> None:
        """Closes all connections. A second call does nothing."""
        await self._http.aclose()

    async def _open(
        self, method: str, path: str, content: bytes | None, limit: Deadline, retry: bool
    ) -> httpx2.Response:
        headers = {"Content-Type": "application/json"} if content is not None else {}
        for wait in (*RETRY_WAITS, None) if retry else (None,):
            request = self._http.build_request(
                method, self.endpoint.base_url + path, content=content, headers=headers
            )
            try:
                return await self._http.send(request, stream=True)
            except UNSENT as error:
                if wait is None or _certificate(error) or limit.left() <= wait:
                    raise
                await self.sleep(wait)
        raise AssertionError("the last attempt returns or raises")


def _certificate(error: BaseException | None) -> bool:
    """Returns True if a TLS failure caused an exception."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


async def _close(response: httpx2.Response) -> None:
    with anyio.CancelScope(shield=True):
        await response.aclose()


async def _bounded(pieces: AsyncIterable[bytes], most: int, cut: bool) -> bytes:
    """Returns the pieces of a body of at most `most` bytes; cuts a longer one, or fails."""
    data = bytearray()
    async for piece in pieces:
        data += piece
        if len(data) > most:
            if cut:
                return bytes(data[:most])
            raise TransportError(f"invalid response: more than {most} bytes")
    return bytes(data)
