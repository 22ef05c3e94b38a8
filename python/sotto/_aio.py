"""Requests of `aio.Engine`: events on their way from the library to the task that awaits them."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ._call import new
from ._handle import Handle, Unique, batches, raise_failure
from ._lib import lib
from .errors import CANCELLED, SottoError
from .event import Event


class Asked(Protocol):
    """What a request needs of its engine."""

    _handle: Handle
    _engine: Any

    def _forget(self, request: Request) -> bool: ...


class Request(Unique):
    """One request's events, on their way to whoever awaits them."""

    def __init__(self, number: int, engine: Asked, error: type[SottoError]) -> None:
        self.number = number
        self.name = new("sotto_request *")
        self._engine = engine  # kept alive by whoever awaits
        self._error = error
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._accepted = False
        self._ended_well = False
        self._undo: Callable[[], object] | None = None

    def hear(self, event: Event) -> None:
        """Takes an event that arrived."""
        self._events.put_nowait(event)
        if event.kind == "done":
            self._engine._forget(self)
            self._ended_well = event.status >= 0
            self._undone()

    async def next(self) -> Event:
        """Waits for the next event; raises what the request failed with."""
        event = await self._events.get()
        raise_failure(event, self._error, refused=not self._accepted)
        self._accepted = True
        return event

    async def finish(self, progress: Callable[[float], None] | None = None) -> Event:
        """Waits for the last event. Cancels the request if the task is cancelled."""
        try:
            while (event := await self.next()).kind != "done":
                if event.kind == "progress" and progress is not None:
                    progress(event.progress)
            return event
        finally:
            self.drop()

    async def end(self) -> None:
        """Waits for the last event. The request goes on if the task is cancelled."""
        while (await self.next()).kind != "done":
            pass

    def undo(self, how: Callable[[], object]) -> None:
        """Cancels the request, and calls `how` if it ends well, or has ended well, all the same."""
        lib.sotto_engine_cancel(self._engine._handle.pointer, self.name[0])
        self._undo = how
        self._undone()

    def _undone(self) -> None:
        if self._undo is not None and self._ended_well:
            with contextlib.suppress(SottoError):  # the engine is closed, and the session with it
                self._undo()

    def set_target_tps(self, tps: float) -> bool:
        """Changes its pace. Returns False if it is over."""
        return bool(self._engine._engine.set_request_tps(self.name[0], tps))

    def drop(self) -> None:
        """Cancels it, if it is not over."""
        if self._engine._forget(self):
            lib.sotto_engine_cancel(self._engine._handle.pointer, self.name[0])


def pump(pointer: Any, loop: asyncio.AbstractEventLoop, deliver: weakref.WeakMethod[Any]) -> None:
    """Brings an engine's events to a loop, until the engine or the loop ends."""
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
    return Event("done", 0, number, "the engine was closed meanwhile", "", CANCELLED, 0, 0.0, 0)
