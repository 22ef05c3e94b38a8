"""When a request whose answer broke off is sent again. Free of I/O, shared by the asyncio twin."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpcore2
import httpx2

from ._answers import Chunks
from ._partial import Partial
from ._wire import BUSY, Call, Credential, Reply, fail
from .errors import InferenceKeyError
from .types import TextChunk

_PAUSES = (0.1, 2.0)  # seconds before the second request, and at most; each pause is twice the one before
_REFUSED = (
    httpx2.ConnectError, httpx2.ConnectTimeout, httpcore2.ConnectError, httpcore2.ConnectTimeout
)  # fmt: skip


class Recovery:
    """The requests of one answer: the first, and those after a fault until a replica accepts one.

    A lost connection and the statuses 502 and 503 are faults. An answer survives one loss. A server that
    answers the first request with 502 or 503 and no `Retry-After` is asked once more.

    Attributes:
        resumed: True once an answer was lost and its request is sent again.

    Args:
        patience: Seconds after a fault in which a replica has to accept the request; 0: none is sent again.
        left: Returns the rest of the time limit of the whole answer, in seconds.
    """

    def __init__(self, patience: float, left: Callable[[], float]) -> None:
        self.resumed = False
        self._patience, self._left = patience, left
        self._pause = _PAUSES[0]
        self._fault: InferenceKeyError | None = None  # the one that the requests now follow
        self._end = 0.0
        self._once = False

    def accepted(self) -> None:
        """Notes that a replica accepted the request."""
        self._fault = None

    def pause(self, error: InferenceKeyError, *, begun: bool = False) -> float:
        """Returns the seconds to wait before the request is sent again. Raises the error if it is not.

        Args:
            error: What happened.
            begun: Whether the answer had begun.
        """
        refused = isinstance(error.__cause__, _REFUSED)
        lost = begun or (error._lost and not refused)
        if not (error._lost or error.status in BUSY) or (lost and self.resumed):
            raise error
        if self._fault is None:
            if refused or self._patience <= 0:
                raise error
            self._fault, self._end = error, time.monotonic() + min(self._patience, self._left())
            self._once = not lost and error._retry is None
            self._pause = _PAUSES[0]
        elif self._once and not lost:
            raise error
        self.resumed |= lost
        wait = max(self._pause, error._retry or 0.0)
        if time.monotonic() + wait > self._end:
            raise error
        self._pause = min(2 * self._pause, _PAUSES[1])
        return wait


class Completion:
    """A streamed answer of up to two replicas.

    Attributes:
        call: The request to send next.
        recovery: Says when.
    """

    def __init__(self, call: Call, credential: Credential, recovery: Recovery) -> None:
        self.call, self.recovery = call, recovery
        self._first, self._credential = call, credential
        self._partial = Partial(call.body)
        self._chunks = Chunks(call, credential)

    @property
    def done(self) -> bool:
        """True once `[DONE]` has come."""
        return self._chunks.done

    def read(self, data: str) -> TextChunk | None:
        """Returns the chunk of an event; None: the event holds none. Raises `InferenceKeyError`."""
        chunk = self._chunks.read(data)
        raw = None if chunk is None else self._partial.take(chunk.raw)
        if chunk is None or raw is None:
            return None
        return TextChunk(chunk.text, chunk.finish_reason, raw)

    def end(self) -> None:
        """Raises `ApiError` if the stream ended before the answer did."""
        self._chunks.end()

    def refuse(self, reply: Reply) -> None:
        """Raises the error of a response that is no stream."""
        fail(self.call, reply, self._credential)

    def broken(self, error: InferenceKeyError) -> float | TextChunk | None:
        """Prepares the request for the rest.

        Returns the seconds to wait before it is sent; or the last chunk, if that alone was lost; None, if the
        answer is complete. Raises the error if the answer is not resumed.
        """
        if error._lost and self._partial.finished:
            return None
        body = self._partial.rest()
        if body is None:
            raise error
        wait = self.recovery.pause(error, begun=True)
        last = self._partial.last()
        if last is not None:
            return TextChunk("", "length", last)
        self._partial.resume()
        self.call = self._first._replace(body=body)
        self._chunks = Chunks(self.call, self._credential)
        return wait
