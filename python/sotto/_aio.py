"""Requests of `aio.Engine`: passes events from the native library to the task that awaits them."""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ._call import new
from ._handle import Handle, Unique, batches, raise_failure
from ._lib import lib
from .errors import SottoError, Status
from .event import Event

_REST = 0.003  # seconds between batches under load
_AHEAD = 4  # batches that the loop may be behind
_PATIENCE = 1.0  # seconds to wait for a loop that is behind, or has stopped
_LOAD = 8  # batches that follow each other in less than twice that


class Asked(Protocol):
    """Interface of the engine that a request uses."""

    _handle: Handle
    _engine: Any

    def _forget(self, request: Request) -> bool: ...


class Request(Unique):
    """A submitted request of `aio.Engine`: its events, its response, its end.

    >>> request = engine.submit("chat", {"messages": messages}, chunks=True)
    >>> while (event := await request.next()).kind != "request_done":
    ...     print(event.json)
    """

    def __init__(self, number: int, engine: Asked, error: type[SottoError]) -> None:
        self.number = number
        self.name = new("sotto_request *")
        self._engine = engine  # keeps the engine alive while the request is awaited
        self._error = error
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()  # None: the alarm of batch() rang
        self._alarm: asyncio.TimerHandle | None = None
        self._patience = 0.0  # when the caller of batch() stops waiting, on the loop's clock
        self._accepted = False
        self._ended_well = False
        self._undo: Callable[[], object] | None = None

    def hear(self, event: Event) -> None:
        """Queues an event. "request_done" ends the request and runs the undo callback if one is set."""
        self._events.put_nowait(event)
        if event.kind == "request_done":
            self._engine._forget(self)
            self._ended_well = event.status >= 0
            self._undone()

    async def next(self) -> Event:
        """Waits for the next event and returns it. Raises the request's error if it failed."""
        while (event := await self._events.get()) is None:
            pass
        raise_failure(event, self._error, refused=not self._accepted)
        self._accepted = True
        return event

    async def batch(self, timeout: float) -> list[Event]:
        """Waits for an event and returns all that are queued; empty if none comes in `timeout` seconds.

        Raises the request's error if it failed and no event precedes the failure in the batch.
        """
        if self._events.empty():
            self._set_alarm(timeout)
        if (first := await self._events.get()) is None:
            return []
        raise_failure(first, self._error, refused=not self._accepted)
        self._accepted = True
        batch, queued = [first], self._events._queue  # type: ignore[attr-defined]
        while queued and (queued[0] is None or queued[0].status >= 0):
            if (event := self._events.get_nowait()) is not None:
                batch.append(event)
        return batch

    def _set_alarm(self, timeout: float) -> None:
        """Ends a wait after `timeout` seconds. One timer serves many waits: it is moved when it rings."""
        loop = asyncio.get_running_loop()
        self._patience = loop.time() + max(timeout, 0)
        if self._alarm is not None and self._alarm.when() > self._patience:
            self._alarm.cancel()
            self._alarm = None
        if self._alarm is None:
            self._alarm = loop.call_at(self._patience, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._alarm = None
        if loop.time() < self._patience:
            self._alarm = loop.call_at(self._patience, self._ring, loop)
        elif self._events.empty():
            self._events.put_nowait(None)

    def abandon(self, why: str) -> None:
        """Cancels the request and ends it at once for the task that awaits it, with the error `why`."""
        self.drop()
        self._events.put_nowait(closed(self.number, why))

    async def finish(self, progress: Callable[[float], None] | None = None) -> Event:
        """Waits for the last event, whose `json` is the response, and returns it.

        Cancels the request if the task is cancelled.

        Args:
            progress: Is called with the progress of a long operation, 0 to 1.

        Raises:
            SottoError: The request failed.
        """
        try:
            while (event := await self.next()).kind != "request_done":
                if event.kind == "progress" and progress is not None:
                    progress(event.progress)
            return event
        finally:
            self.drop()

    async def end(self) -> None:
        """Waits for the last event. The request continues if the task is cancelled."""
        while (await self.next()).kind != "request_done":
            pass

    def undo(self, how: Callable[[], object]) -> None:
        """Cancels the request. Calls `how` if the request nevertheless ends, or has ended, with success."""
        lib.sotto_engine_cancel(self._engine._handle.pointer, self.name[0])
        self._undo = how
        self._undone()

    def _undone(self) -> None:
        if self._undo is not None and self._ended_well:
            with contextlib.suppress(SottoError):  # the engine is closed, so the session is closed too
                self._undo()

    def set_target_tps(self, tps: float) -> bool:
        """Sets the request's pace in tokens per second. Returns False if the request has ended."""
        return bool(self._engine._engine.set_request_tps(self.name[0], tps))

    def drop(self) -> None:
        """Cancels the request if it has not ended."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._engine._forget(self):
            lib.sotto_engine_cancel(self._engine._handle.pointer, self.name[0])


def pump(pointer: Any, loop: asyncio.AbstractEventLoop, deliver: weakref.WeakMethod[Any]) -> None:
    """Thread function: posts an engine's events to a loop until the engine or the loop ends.

    Under load, rests after each batch, so that the loop wakes up once for the events of many streams. If the
    loop is slower than the engine, waits for it, so that its other tasks get their turn.
    """
    before, quick = 0.0, 0
    posted: list[object] = []  # what the loop has not delivered yet
    for batch in batches(pointer):
        method = deliver()
        if method is None:
            return
        try:
            posted.append(None)
            loop.call_soon_threadsafe(_hand_over, method, batch, posted)
        except RuntimeError:  # the loop is closed
            return
        del method
        now = time.monotonic()
        quick = quick + 1 if now - before < 2 * _REST else 0
        before = now
        if quick > _LOAD:
            time.sleep(_REST)
        while len(posted) > _AHEAD and time.monotonic() - now < _PATIENCE:
            time.sleep(_REST)


def _hand_over(method: Callable[[list[Event]], None], batch: list[Event], posted: list[object]) -> None:
    posted.pop()
    method(batch)


def closed(number: int, why: str = "the engine was closed during the call") -> Event:
    """Returns the last event of a request that is cancelled from this side."""
    return Event(
        "request_done",
        0,
        number,
        "",
        "",
        Status.CANCELLED,
        0,
        0.0,
        0,
        "",
        why,
    )
