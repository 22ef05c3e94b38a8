"""Streams of several requests of the engine in one response."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from .._ops import Op
from ..terms import RequestOptions
from .answering import Chunks, begin
from .errors import HttpError
from .service import Service
from .shapes import Shape


async def stream_all(
    request: Request,
    service: Service,
    op: Op,
    bodies: Sequence[str],
    options: RequestOptions,
    shapes: Sequence[Shape],
) -> Response:
    """Answers several requests of the engine in one stream, in the order in which their chunks come.

    Args:
        request: The request of the client.
        service: Admits each of the requests.
        op: The operation.
        bodies: The bodies of the requests.
        options: Pace, priority and deadline of each.
        shapes: The form of the chunks of each; the first one's end is that of the stream.

    Raises:
        HttpError: the server refuses one of the requests.
        SottoError: the engine refuses one of them.
    """
    merged = _Merged()
    try:
        for body, shape in zip(bodies, shapes, strict=True):
            merged.add(service, op, body, options, shape)
    except BaseException as error:
        merged.fail(error)
        merged.release()
        raise
    return await begin(request, service, merged, _Ready(shapes[0]))


class _Merged:
    """The events of several requests, in the order in which they come."""

    def __init__(self) -> None:
        self._parts: list[Chunks] = []
        self._readers: list[asyncio.Task[None]] = []
        self._events: asyncio.Queue[list[str] | BaseException | None] = asyncio.Queue()
        self._left = 0  # requests that have not ended

    def add(self, service: Service, op: Op, body: str, options: RequestOptions, shape: Shape) -> None:
        """Submits a request."""
        live = service.admit()
        try:
            running = live.run(op, body, options, True)
        except BaseException:
            live.release()
            raise
        self._parts.append(Chunks(live, running, service.settings.ping))
        self._readers.append(asyncio.ensure_future(self._read(self._parts[-1], shape)))
        self._left += 1

    async def next(self) -> list[str] | None:
        """Waits for events; an empty list: a request is silent; None: the end. Raises the first failure."""
        while self._left:
            found = await self._events.get()
            if isinstance(found, BaseException):
                raise found
            if found is not None:
                return found
            self._left -= 1
        return None

    async def _read(self, chunks: Chunks, shape: Shape) -> None:
        try:
            while (told := await chunks.next()) is not None:
                self._events.put_nowait([shape.chunk(text) for text in told])
            self._events.put_nowait(None)
        except Exception as error:
            self._events.put_nowait(error)

    def abandon(self, why: str) -> None:
        """Cancels all requests; the stream ends with the error `why`."""
        for part in self._parts:
            part.abandon(why)

    def fail(self, error: BaseException) -> None:
        """Counts all requests as failed."""
        for part in self._parts:
            part.fail(error)

    def release(self) -> None:
        """Ends all requests."""
        for reader in self._readers:
            reader.cancel()
        for part in self._parts:
            part.release()


class _Ready(Shape):
    """Passes on events that are in the form of another shape already."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def chunk(self, told: str) -> str:
        """Returns the events."""
        return told

    def ping(self) -> str:
        """Returns the ping of the shape."""
        return self._shape.ping()

    def end(self) -> str:
        """Returns the end of the shape."""
        return self._shape.end()

    def broken(self, error: HttpError) -> str:
        """Returns the error of the shape."""
        return self._shape.broken(error)
