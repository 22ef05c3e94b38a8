"""Sends the requests of the clients for asyncio."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import httpx2

from .._deadline import KEEP_ALIVE, Deadline
from ._answers import Chunks
from ._readiness import Wait
from ._wire import MAX_EVENT, MAX_RESPONSE, Call, Credential, Reply, Steps, T, fail, failures
from .errors import ApiError
from .types import TextChunk


class AsyncConnection:
    """Connections to one control plane. Tasks of one event loop may share it."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        limits = httpx2.Limits(
            max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEEP_ALIVE
        )
        verify = httpx2.create_ssl_context() if base_url.startswith("https:") else False
        transport = httpx2.AsyncHTTPTransport(verify=verify, limits=limits)
        self._http = httpx2.AsyncClient(transport=transport, timeout=None, follow_redirects=False)
        self.sleep = anyio.sleep

    async def run(self, steps: Steps[T], credential: Credential, timeout: float) -> T:
        """Sends the requests that `steps` yields, and returns its result."""
        try:
            call = next(steps)
            while True:
                call = steps.send(await self.send(call, credential, timeout))
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def send(self, call: Call, credential: Credential, timeout: float) -> Reply:
        """Sends a request and returns the whole response, of any status."""
        with failures(call, self.base_url, credential, timeout), anyio.fail_after(timeout):
            response = await self._open(call, credential)
            try:
                data = bytearray()
                async for piece in response.aiter_bytes():
                    data += piece
                    if len(data) > MAX_RESPONSE:
                        raise ApiError(f"{call.method} {call.path}: invalid response: too long")
                return Reply(response.status_code, bytes(data))
            finally:
                await _close(response)

    async def stream(self, call: Call, credential: Credential, timeout: float) -> AsyncTextStream:
        """Sends a request and returns the stream of its response. Raises the error of an error status."""
        limit = Deadline(timeout)
        with failures(call, self.base_url, credential, timeout), anyio.fail_after(timeout):
            response = await self._open(call, credential)
            if response.status_code == 200:
                return AsyncTextStream(self.base_url, response, call, credential, limit)
            try:
                reply = Reply(response.status_code, (await response.aread())[:MAX_EVENT])
            finally:
                await _close(response)
        fail(call, reply, credential)

    async def wait(self, call: Call, credential: Credential, wait: Wait) -> None:
        """Waits until the workload is ready; reconnects if the connection ends before."""
        while True:
            error: ApiError | None = None
            async with aclosing(self._events(call, credential, wait)) as events:
                async for event in events:
                    if isinstance(event, ApiError):
                        error = event
                    elif wait.take(event):  # outside of `failures`: a callback may raise anything
                        return
            await self.sleep(wait.pause(error))

    async def close(self) -> None:
        """Closes all connections. A second call does nothing."""
        await self._http.aclose()

    async def _events(
        self, call: Call, credential: Credential, wait: Wait
    ) -> AsyncGenerator[str | ApiError, None]:
        """Yields the data of the events of one connection; last, an error if the connection failed."""
        response: httpx2.Response | None = None
        try:
            left = wait.left()
            with failures(call, self.base_url, credential, left), anyio.fail_after(left):
                response = await self._open(call, credential)
                if response.status_code != 200:
                    reply = Reply(response.status_code, (await response.aread())[:MAX_EVENT])
                    fail(call, reply, credential)
            wait.connected()
            events = aiter(httpx2.EventSource(response, MAX_EVENT))
            while True:
                left = wait.left()
                with failures(call, self.base_url, credential, left), anyio.fail_after(left):
                    event = await anext(events, None)
                if event is None:
                    return
                yield event.data
        except ApiError as error:
            yield error
        finally:
            if response is not None:
                await _close(response)

    async def _open(self, call: Call, credential: Credential) -> httpx2.Response:
        content = call.content()
        headers = {"Accept-Encoding": "identity", "User-Agent": "sotto-fleet", **credential.header()}
        if content is not None:
            headers["Content-Type"] = "application/json"
        request = self._http.build_request(
            call.method, self.base_url + call.path, content=content, headers=headers
        )
        return await self._http.send(request, stream=True)


class AsyncTextStream(AsyncIterator[TextChunk]):
    """Iterates over the chunks of a completion. Closing it cancels the rest of the answer."""

    def __init__(
        self, base_url: str, response: httpx2.Response, call: Call, credential: Credential, limit: Deadline
    ) -> None:
        self._response, self._chunks, self._limit = response, Chunks(call, credential), limit
        self._failures: Any = lambda: failures(call, base_url, credential, float(limit))
        self._events = aiter(httpx2.EventSource(response, MAX_EVENT))
        self._closed = False

    async def __anext__(self) -> TextChunk:
        while not self._closed:
            try:
                with self._failures():
                    with anyio.fail_after(self._limit.left()):
                        event = await anext(self._events, None)
                    chunk = None if event is None else self._chunks.read(event.data)
                    if event is None:
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
        """Closes the connection. A second call does nothing."""
        if not self._closed:
            self._closed = True
            await _close(self._response)

    async def __aenter__(self) -> AsyncTextStream:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


async def _close(response: httpx2.Response) -> None:
    with anyio.CancelScope(shield=True):
        await response.aclose()
