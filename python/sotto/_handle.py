"""An engine inside the library, and private requests to it: what must end well whatever happens."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ._call import check, failure, new, struct
from ._lib import lib
from ._values import number
from .errors import CANCELLED, STATE, InferenceError, SottoError
from .event import Event, read_event

_SETTLE_MS = 10_000  # how long something that was interrupted is waited for
SLICE_MS = 100  # longest wait inside the library: between two, Python looks for Ctrl-C


class Unique:
    """Refuses to be copied or pickled: it stands for something inside the library."""

    def __reduce_ex__(self, protocol: object) -> Any:
        kind = type(self)
        name = f"{kind.__module__}.{kind.__qualname__}"
        raise TypeError(f"a {name} cannot be copied or pickled; share the object itself")


class Handle(Unique):
    """Owns an engine. Whoever still needs it holds one; the last to let go destroys it.

    The library takes calls on an engine that is destroyed meanwhile, so nothing here is locked.
    """

    def __init__(self, desc: Any) -> None:
        out = new("sotto_engine **")
        check(lib.sotto_engine_create(desc, out))
        self.pointer = out[0]
        self._pid = os.getpid()
        self._end = weakref.finalize(self, _destroy, out[0], self._pid)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return not self._end.alive

    def close(self) -> None:
        """Ends the engine. A second call does nothing."""
        self._end()

    def require(self, error: type[SottoError] = SottoError) -> None:
        """Raises unless it can be used."""
        if self.closed:
            raise error("engine is closed; create another one", STATE)
        if os.getpid() != self._pid:
            raise SottoError("engine belongs to the process before the fork; create another one here", STATE)

    def call(self, function: Callable[..., int], *args: Any, error: type[SottoError] = SottoError) -> int:
        """Calls `function(engine, *args)`, and raises what it fails with."""
        self.require(error)
        status = function(self.pointer, *args)
        if status < 0 and self.closed:
            raise error("the engine was closed meanwhile", CANCELLED)
        return check(status, error)


def _destroy(pointer: Any, pid: int) -> None:
    if os.getpid() == pid:  # a forked child has no threads to end
        lib.sotto_engine_destroy(pointer)


class Request(Unique):
    """One private request: its events one by one, until it is over or dropped."""

    def __init__(
        self, handle: Handle, error: type[SottoError], submit: Callable[..., int] | None, *args: Any
    ) -> None:
        self._handle = handle
        self._error = error
        self._event = struct("sotto_event")
        self._id = new("sotto_request *")
        self._accepted = False
        handle.require()
        if submit is not None:
            with self:
                handle.call(submit, *args, self._id, error=error)

    def __enter__(self) -> Request:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None:
            self.drop()

    def set_target_tps(self, tps: float) -> bool:
        """Its pace, from the next token on. False: it is over."""
        pace, name = number("tps", tps), self._id[0]
        return self._handle.call(lib.sotto_engine_set_request_tps, name, pace) == 0

    def drop(self) -> None:
        """Cancels it, if it is not over. Never waits."""
        lib.sotto_engine_discard_request(self._handle.pointer, self._id[0])

    def next(self) -> Event:
        """The next event. Waits for it; raises what the request failed with."""
        wait, args = lib.sotto_engine_wait_request_event, (self._id[0], SLICE_MS, self._event)
        while self._handle.call(wait, *args, error=self._error) == lib.SOTTO_EMPTY:
            pass
        event = read_event(self._event)
        raise_failure(event, self._error, refused=not self._accepted)
        self._accepted = True
        return event

    def finish(self, progress: Callable[[float], None] | None = None) -> Event:
        """The last event. Waits for it; raises what the request failed with."""
        with self:
            while (event := self.next()).kind != "done":
                if event.kind == "progress" and progress is not None:
                    progress(event.progress)
            return event

    def settle(self) -> bool:
        """Waits for the end, a while at most, whatever was heard before. Returns whether it ended well."""
        pointer, name, event = self._handle.pointer, self._id[0], self._event
        for _ in range(_SETTLE_MS // SLICE_MS):
            if event.kind == lib.SOTTO_EVENT_REQUEST_DONE:
                return bool(event.status >= 0)
            if not name or lib.sotto_engine_wait_request_event(pointer, name, SLICE_MS, event) < 0:
                return False
        lib.sotto_engine_discard_request(pointer, name)
        return False


class Opening(Request):
    """A request to open a session, which can be undone: what it opened is closed again."""

    def __init__(self, handle: Handle, close: Callable[[], Request]) -> None:
        super().__init__(handle, InferenceError, None)
        self._close = close

    def submit(self, desc: Any) -> None:
        """Submits it."""
        self._handle.call(lib.sotto_engine_submit, desc, self._id, error=self._error)

    def drop(self) -> None:
        """Does nothing: `undo()` wants to hear how it ends."""

    def undo(self) -> None:
        """Cancels it if it is not over, and closes the session if it was opened."""
        if self._handle.closed:
            return
        lib.sotto_engine_cancel(self._handle.pointer, self._id[0])
        if self.settle():
            self._close().settle()


def raise_failure(event: Event, error: type[SottoError] = InferenceError, *, refused: bool) -> None:
    """Raises if `event` tells that its request failed."""
    if event.status < 0:
        raise failure(event.status, event.text, error, refused=refused)


def batches(pointer: Any) -> Iterator[list[Event]]:
    """What arrives on an engine's queue, until the engine ends. Does not keep it alive."""
    told = struct("sotto_event")
    while lib.sotto_engine_wait_for_events(pointer, -1) >= 0:
        batch = []
        while lib.sotto_engine_next_event(pointer, told) == lib.SOTTO_OK:
            batch.append(read_event(told))
        yield batch
