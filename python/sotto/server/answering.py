"""Answers requests: whole, or as server-sent events. A client that goes away cancels its request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .. import aio
from .._ops import Op
from ..errors import SottoError
from ..event import Event
from ..terms import RequestOptions
from .asking import Asked
from .errors import HttpError, to_http
from .service import Live, Service
from .shapes import Shape

Follow = Callable[[Op, str], Awaitable[str]]  # runs another operation; returns the engine's response
_PARTING = 2.0  # seconds for the last words of a stream whose time is over


async def answer(
    request: Request,
    service: Service,
    op: Op,
    asked: Asked,
    shape: Shape,
    chunks: type[Chunks] | None = None,
) -> Response:
    """Runs an operation of the engine and returns its answer. `chunks`: what reads the events of a stream.

    Raises:
        HttpError: the server refuses the request.
        SottoError: the engine refuses the request, or fails before the first token.
    """
    if asked.stream:
        return await _stream(request, service, op, asked, shape, chunks or Chunks)
    told = await complete(request, service, op, asked.text, asked.options)
    return Response(shape.whole(told), media_type="application/json")


async def complete(
    request: Request,
    service: Service,
    op: Op,
    text: str,
    options: RequestOptions | None = None,
    finish: Callable[[str, Follow], Awaitable[str]] | None = None,
) -> str:
    """Runs an operation and returns the engine's response. Cancels it if the client goes away.

    `finish`: returns what to answer instead, after other operations of the same answer.
    """
    terms = options or RequestOptions()
    live = service.admit()

    async def follow(op: Op, text: str) -> str:
        return await _complete(request, service, live.follow(op, text, terms))

    try:
        told = await _complete(request, service, live.run(op, text, terms))
        live.hear([told])
        if finish is not None:
            return await finish(told, follow)
        return told
    except Exception as error:
        live.fail(error)
        raise
    finally:
        live.release()


async def _complete(request: Request, service: Service, running: aio.Request) -> str:
    watching = asyncio.ensure_future(_watch(request.receive, running))
    try:
        with anyio.fail_after(service.settings.timeout):
            return (await running.finish()).json
    except TimeoutError:
        raise _late(service) from None
    finally:
        watching.cancel()


async def _stream(
    request: Request, service: Service, op: Op, asked: Asked, shape: Shape, source: type[Chunks]
) -> Response:
    live = service.admit()
    try:
        running = live.run(op, asked.text, asked.options, source.chunks)
    except BaseException as error:
        live.fail(error)
        live.release()
        raise
    return await begin(request, service, source(live, running, service.settings.ping), shape)


async def begin(request: Request, service: Service, source: Source, shape: Shape) -> Response:
    """Returns a stream once its first chunk is there, so that errors before it have their status.

    Raises:
        HttpError: no chunk came within the time limit.
        SottoError: the engine refuses the request, or fails before the first token.
    """
    watching = asyncio.ensure_future(_watch(request.receive, source))
    try:
        with anyio.fail_after(service.settings.timeout):
            first = await source.next()
        return EventStream(source, first, shape, service.settings.timeout)
    except BaseException as error:
        failure = _late(service) if isinstance(error, TimeoutError) else error
        source.fail(failure)
        source.release()
        raise failure from None
    finally:
        watching.cancel()


class Source(Protocol):
    """What a stream sends: chunks of a request, or events of several."""

    async def next(self) -> list[str] | None:
        """Waits for chunks. Returns an empty list after `ping` seconds without one; None: the end."""

    def abandon(self, why: str) -> None:
        """Cancels what runs; `next()` then raises an error with the message `why`."""

    def fail(self, error: BaseException) -> None:
        """Counts the answer as failed."""

    def release(self) -> None:
        """Ends what runs, and its count."""


class Chunks:
    """The chunks of a request, in groups: all that are there when the first one is taken."""

    chunks = True  # events carry OpenAI chunks

    def __init__(self, live: Live, running: aio.Request, ping: float) -> None:
        self._live = live
        self._running = running
        self._ping = ping
        self._done = False
        self.abandon = running.abandon
        self.fail = live.fail
        self.release = live.release

    async def next(self) -> list[str] | None:
        """Waits for chunks. Returns an empty list after `ping` seconds without one; None: the end."""
        until = time.monotonic() + self._ping
        while not self._done:
            batch = await self._running.batch(until - time.monotonic())
            self._done = bool(batch) and batch[-1].kind == "request_done"
            chunks = self.read(batch)
            if chunks:
                self._live.hear(chunks)
            if chunks or not batch:
                return chunks
        return None

    def read(self, batch: list[Event]) -> list[str]:
        """Returns the chunks of events."""
        return [event.json for event in batch if event.json and event.kind != "request_done"]


class EventStream(Response):
    """Server-sent events of one answer. Ends the request and its count however the response ends."""

    media_type = "text/event-stream"

    def __init__(self, source: Source, first: list[str] | None, shape: Shape, timeout: float) -> None:
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._source, self._first, self._shape = source, first, shape
        self._timeout = timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response."""
        watching = asyncio.ensure_future(_watch(receive, self._source))
        try:
            with anyio.move_on_after(self._timeout) as limit:
                await self._speak(send)
            if limit.cancelled_caught:
                await self._part(send)
        except OSError:  # the client is gone
            pass
        finally:
            watching.cancel()
            self._source.release()

    async def _speak(self, send: Send) -> None:
        """Sends chunks until the end of the answer."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        chunks, following, chunk = self._first, self._source.next, self._shape.chunk
        try:
            while chunks is not None:
                body = "".join(map(chunk, chunks)) if chunks else self._shape.ping()
                await send({"type": "http.response.body", "body": body.encode(), "more_body": True})
                chunks = await following()
            last = self._shape.end()
        except SottoError as error:
            self._source.fail(error)
            last = self._shape.broken(to_http(error))
        await send({"type": "http.response.body", "body": last.encode()})

    async def _part(self, send: Send) -> None:
        """Ends a stream whose time is over."""
        error = HttpError(503, f"the answer took longer than {self._timeout:g} seconds")
        self._source.fail(error)
        with anyio.move_on_after(_PARTING):
            await send({"type": "http.response.body", "body": self._shape.broken(error).encode()})


async def _watch(receive: Receive, running: aio.Request | Source) -> None:
    """Cancels what runs when its client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
    running.abandon("the client closed the connection")


def _late(service: Service) -> HttpError:
    return HttpError(503, f"no answer within {service.settings.timeout:g} seconds; ask again later")
