"""Sends the requests of the clients for asyncio."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import anyio
import httpx2

from .._deadline import KEEP_ALIVE, Deadline
from ._readiness import Wait
from ._recovery import Completion, Recovery
from ._wire import (
    BUSY,
    MAX_EVENT,
    MAX_RESPONSE,
    Call,
    Credential,
    Reply,
    Steps,
    T,
    fail,
    failures,
    retry_of,
)
from .errors import ApiError
from .types import TextChunk


class AsyncConnection:
    """Connections to one control plane. Tasks of one event loop may share it.

    `patience`: as that of `Connection`.
    """

    def __init__(self, base_url: str, patience: float = 0.0) -> None:
        self.base_url, self.patience = base_url, patience
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
                return Reply(response.status_code, bytes(data), retry_of(response.headers))
            finally:
                await _close(response)

    async def complete(self, call: Call, credential: Credential, timeout: float) -> tuple[Reply, bool]:
        """Sends a request of the data plane, as `Connection.complete()` does."""
        limit = Deadline(timeout)
        recovery = Recovery(self.patience, limit.left)
        while True:
            try:
                reply = await self.send(call, credential, max(limit.left(), 0.0))
                if reply.status not in BUSY:
                    return reply, recovery.resumed
                fail(call, reply, credential)
            except ApiError as error:
                wait = recovery.pause(error)
            await self.sleep(wait)

    async def stream(self, call: Call, credential: Credential, timeout: float) -> AsyncTextStream:
        """Sends a request and returns the stream of its response. Raises the error of an error status."""
        limit = Deadline(timeout)
        answer = Completion(call, credential, Recovery(self.patience, limit.left))
        return AsyncTextStream(
            self, answer, await self.accepted(answer, credential, limit), credential, limit
        )

    async def accepted(self, answer: Completion, credential: Credential, limit: Deadline) -> httpx2.Response:
        """Sends the request of a stream until a replica accepts it. Returns the response, unread."""
        while True:
            try:
                with (
                    failures(answer.call, self.base_url, credential, float(limit)),
                    anyio.fail_after(max(limit.left(), 0.0)),
                ):
                    response = await self._open(answer.call, credential)
                    if response.status_code == 200:
                        answer.recovery.accepted()
                        return response
                    reply = await _refusal(response)
                fail(answer.call, reply, credential)
            except ApiError as error:
                wait = answer.recovery.pause(error)
            await self.sleep(wait)

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
                    fail(call, await _refusal(response), credential)
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
        self,
        connection: AsyncConnection,
        answer: Completion,
        response: httpx2.Response,
        credential: Credential,
        limit: Deadline,
    ) -> None:
        self._connection, self._answer = connection, answer
        self._credential, self._limit = credential, limit
        self._closed = False
        self._read(response)

    async def __anext__(self) -> TextChunk:
        while not self._closed:
            try:
                chunk = await self._next()
            except ApiError as error:
                chunk = await self._resume(error)
            except BaseException:
                await self.close()
                raise
            if chunk is not None:
                return chunk
        raise StopAsyncIteration

    async def close(self) -> None:
        """Closes the connection. A second call does nothing."""
        if not self._closed:
            self._closed = True
            await _close(self._response)

    def _read(self, response: httpx2.Response) -> None:
        self._response = response
        self._events = aiter(httpx2.EventSource(response, MAX_EVENT))

    async def _next(self) -> TextChunk | None:
        """Returns the chunk of the next event, if it holds one. Closes the connection after the last one."""
        with (
            failures(self._answer.call, self._connection.base_url, self._credential, float(self._limit)),
            anyio.fail_after(max(self._limit.left(), 0.0)),
        ):
            event = await anext(self._events, None)
        if event is None:
            self._answer.end()
        chunk = None if event is None else self._answer.read(event.data)
        if event is None or self._answer.done:
            await self.close()
        return chunk

    async def _resume(self, error: ApiError) -> TextChunk | None:
        """Goes on with the rest of the answer from another replica. Raises the error if none takes it up."""
        resumed = False
        try:
            await _close(self._response)
            found = self._answer.broken(error)
            if not isinstance(found, float):
                return found
            await self._connection.sleep(found)
            self._read(await self._connection.accepted(self._answer, self._credential, self._limit))
            resumed = True
            return None
        finally:
            if not resumed:
                await self.close()

    async def __aenter__(self) -> AsyncTextStream:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


async def _refusal(response: httpx2.Response) -> Reply:
    """Returns a response that is no stream."""
    try:
        return Reply(response.status_code, (await response.aread())[:MAX_EVENT], retry_of(response.headers))
    finally:
        await _close(response)


async def _close(response: httpx2.Response) -> None:
    with anyio.CancelScope(shield=True):
        await response.aclose()
