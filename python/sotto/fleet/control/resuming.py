"""Goes on with a streamed answer at another replica: keeps its bytes, reads them only if it breaks off."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import httpx2

from .._partial import Partial, resumable
from .._wire import BUSY, MAX_EVENT
from .errors import Refusal

PATH = "chat/completions"
_MAX_KEPT = 8 << 20  # bytes of an answer; a longer one is not resumed
_DONE = b"data: [DONE]"
_ERROR = b'data: {"error"'
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")  # of an event

Again = Callable[[dict[str, Any]], Awaitable[httpx2.Response]]  # sends a request to another replica


def applies(path: str, fields: Any) -> bool:
    """Returns True if the answer to a request may be resumed."""
    return path == PATH and resumable(fields)


class Broken(Exception):
    """An answer broke off; the message says why."""


class Resumption:
    """An answer that another replica may complete.

    Args:
        fields: The body of its request.
        again: Sends a request with another body until a replica accepts it. Raises `Refusal` if none does.
    """

    def __init__(self, fields: dict[str, Any], again: Again) -> None:
        self._fields, self._again = fields, again
        self._kept = bytearray()
        self._held = b""  # the beginning of an event
        self._last = b""  # the last events
        self._gone = ""  # why the replica says that it is gone
        self._failed = False  # the answer ended with another error
        self._partial: Partial | None = None
        self._response: httpx2.Response | None = None  # of the other replica

    async def whole(self) -> httpx2.Response:
        """Sends the request again, none of whose answer has come. Raises `Refusal`."""
        return await self._again(self._fields)

    async def close(self) -> None:
        """Ends the request at the other replica."""
        if self._response is not None:
            await self._response.aclose()

    async def events(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """Yields the events of an answer, in whole events: those of the replica, then those of another.

        Raises:
            Broken: The answer broke off, and is not resumed.
        """
        try:
            async for piece in response.aiter_raw():
                if events := self._add(piece):
                    yield events
                if self._gone:
                    break
            if not self._gone and self._is_complete():
                if self._held:
                    yield self._held
                return
            reason = self._gone or "the stream ended before the answer was complete"
        except httpx2.TransportError as error:
            reason = f"the workload closed the connection ({type(error).__name__})"
        if self._failed:
            return  # and the client knows why
        await response.aclose()
        async for event in self._rest(reason):
            yield event

    def _add(self, piece: bytes) -> bytes:
        """Returns the events that a piece completes, up to one that says that the replica is gone."""
        if self._held:
            piece = self._held + piece
        if piece.endswith(b"\n\n"):
            self._held = b""
        else:
            ends = [piece.rfind(end) + len(end) for end in _ENDS if end in piece]
            end = max(ends, default=0)
            piece, self._held = piece[:end], piece[end:]
        if _ERROR in piece:
            piece = self._until_gone(piece)
        if len(self._kept) <= _MAX_KEPT:
            self._kept += piece
        self._last = piece or self._last
        return piece

    def _until_gone(self, piece: bytes) -> bytes:
        """Returns the events before one that says that the replica is gone; else all events."""
        for line in piece.splitlines():
            if line.startswith(_ERROR):
                with suppress(ValueError, RecursionError):
                    error = json.loads(line[6:])["error"]
                    if isinstance(error, dict) and error.get("code") in BUSY:
                        self._gone = str(error.get("message"))[:500]
                        return piece[: piece.index(line)]
                    self._failed = True
        return piece

    def _is_complete(self) -> bool:
        return (self._last + self._held).rstrip().endswith(_DONE) or self._read().finished

    def _read(self) -> Partial:
        """Returns what has come."""
        if self._partial is None:
            self._partial = Partial(self._fields)
            for line in bytes(self._kept).splitlines():
                if line.startswith(b"data: {"):
                    with suppress(ValueError, RecursionError):
                        self._partial.take(json.loads(line[6:]))
        return self._partial

    async def _rest(self, reason: str) -> AsyncIterator[bytes]:
        partial = self._read()
        if partial.finished:
            yield _DONE + b"\n\n"
            return
        body = partial.rest() if len(self._kept) <= _MAX_KEPT else None
        if body is None:
            raise Broken(reason)
        if (last := partial.last()) is not None:
            yield _event(last) + _DONE + b"\n\n"
            return
        try:
            response = self._response = await self._again(body)
        except Refusal as error:
            raise Broken(f"{reason}; {error}") from None
        if response.status_code != 200:
            raise Broken(f"{reason}; the replica that was asked for the rest answers {response.status_code}")
        partial.resume()
        try:
            async for event in httpx2.EventSource(response, MAX_EVENT):
                if event.data.strip() == "[DONE]":
                    yield _DONE + b"\n\n"
                    return
                chunk = json.loads(event.data)
                if not isinstance(chunk, dict):
                    raise ValueError("expected an object")
                made = chunk if "error" in chunk else partial.take(chunk)
                if made is not None:
                    yield _event(made)
        except (httpx2.TransportError, ValueError, RecursionError) as error:
            raise Broken(f"{reason}; again, at another replica ({type(error).__name__})") from None
        if not partial.finished:
            raise Broken(f"{reason}; again, at another replica")


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"
