"""Requests of `aio.Engine`: passes events from the native library to the task that awaits them."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ._call import new
from ._handle import Handle, Unique, batches, raise_failure
from ._lib import lib
from .errors import SottoError, Status
from .event import Event


class Asked(Protocol):
    """Interface of the engine that a request uses."""

    _handle: Handle
    _engine: Any

    def _forget(self, request: Request) -> bool: ...


class Request(Unique):
    """One request, with the queue of its events."""

    def __init__(self, number: int, engine: Asked, error: type[SottoError]) -> None:
        self.number = number
        self.name = new("sotto_request *")
        self._engine = engine  # keeps the engine alive while the request is awaited
        self._error = error
        self._events: asyncio.Queue[Event] = asyncio.Queue()
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
        event = await self._events.get()
        raise_failure(event, self._error, refused=not self._accepted)
        self._accepted = True
        return event

    async def finish(self, progress: Callable[[float], None] | None = None) -> Event:
        """Waits for the last event and returns it. Cancels the request if the task is cancelled."""
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
        if self._engine._forget(self):
            lib.sotto_engine_cancel(self._engine._handle.pointer, self.name[0])


def pump(pointer: Any, loop: asyncio.AbstractEventLoop, deliver: weakref.WeakMethod[Any]) -> None:
    """Thread function: posts an engine's events to a loop until the engine or the loop ends."""
    for batch in batches(pointer):
        method = deliver()
        if method is None:
            return
        try:
            loop.call_soon_threadsafe(method, batch)
        except RuntimeError:  # the loop is closed
            return
        del method


def closed(number: int) -> Event:
    """Returns the last event of a request whose engine was closed."""
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
        "the engine was closed during the call",
    )
