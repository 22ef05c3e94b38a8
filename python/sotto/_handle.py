"""Ownership of a native engine and of private requests: both are released on every path."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ._call import check, failure, new, struct
from ._lib import lib
from ._values import number
from .errors import InferenceError, SottoError, Status
from .event import Event, read_event

_inside = threading.local()  # `.engine`: whose thread this is, while it runs a backend in Python
_SETTLE_MS = 10_000  # longest wait for the end of an interrupted request
_BATCH = 256  # most events of a batch
SLICE_MS = 100  # longest wait inside the library; Python checks for Ctrl-C between waits


class Unique:
    """Base class of objects that own a native resource: copying or pickling raises `TypeError`."""

    def __reduce_ex__(self, protocol: object) -> Any:
        kind = type(self)
        name = f"{kind.__module__}.{kind.__qualname__}"
        raise TypeError(f"a {name} cannot be copied or pickled; share the object itself")


class Follower(Protocol):
    """An object that ends something when an engine is closed."""

    def engine_closed(self, engine: Handle) -> None:
        """Called after the engine was closed."""

    def __hash__(self) -> int: ...


class Handle(Unique):
    """Owns a native engine, which is destroyed when the last reference to the handle is deleted.

    The library accepts calls on an engine that another thread destroys meanwhile, so this class has no lock.
    """

    def __init__(self, desc: Any) -> None:
        out = new("sotto_engine **")
        check(lib.sotto_engine_create(desc, out))
        self.pointer = out[0]
        self._pid = os.getpid()
        self._end = weakref.finalize(self, _destroy, out[0], self._pid)
        self.followers: weakref.WeakSet[Follower] = weakref.WeakSet()  # objects that end with the engine

    @property
    def closed(self) -> bool:
        """True if the engine was closed."""
        return not self._end.alive

    def close(self) -> None:
        """Destroys the engine. A second call does nothing."""
        self.require_outside("close the engine")
        self._end()
        for one in list(self.followers):
            one.engine_closed(self)

    def require_outside(self, what: str) -> None:
        """Raises an error on a thread that runs a backend for this engine, which would wait for itself."""
        if getattr(_inside, "engine", None) == self.pointer:
            raise SottoError(
                f"a backend cannot {what} that runs it; use another engine, or another thread", Status.STATE
            )

    def require(self, error: type[SottoError] = SottoError) -> None:
        """Raises an error if the engine is closed or belongs to the process before a fork."""
        if self.closed:
            raise error("engine is closed; create another engine", Status.STATE)
        if os.getpid() != self._pid:
            raise SottoError(
                "engine belongs to the process before the fork; create an engine in this process",
                Status.STATE,
            )

    def call(self, function: Callable[..., int], *args: Any, error: type[SottoError] = SottoError) -> int:
        """Returns the status of `function(engine, *args)`; raises `error` if it fails."""
        self.require(error)
        status = function(self.pointer, *args)
        if status < 0 and self.closed:
            raise error("the engine was closed during the call", Status.CANCELLED)
        return check(status, error)

    def call_live(self, function: Callable[..., int], request: int, *args: Any) -> bool:
        """Calls `function(engine, request, *args)`. Returns False if no such request is live."""
        try:
            self.call(function, request, *args)
        except SottoError as error:
            if error.status != Status.NOT_FOUND:
                raise
            return False
        return True


def _destroy(pointer: Any, pid: int) -> None:
    if os.getpid() != pid:  # a forked child does not have the engine's threads
        return
    if getattr(_inside, "engine", None) is None:
        lib.sotto_engine_destroy(pointer)
    else:  # the garbage collector ran on a thread of an engine, which must not wait for itself
        threading.Thread(target=lib.sotto_engine_destroy, args=(pointer,)).start()


@contextmanager
def inside(pointer: Any) -> Iterator[None]:
    """Marks this thread as one of an engine that runs a backend in Python."""
    before = getattr(_inside, "engine", None)
    _inside.engine = pointer
    try:
        yield
    finally:
        _inside.engine = before


class Request(Unique):
    """One private request, whose events are taken one by one until it ends or is dropped."""

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
        """Sets the pace in tokens per second from the next token on. Returns False if the request ended."""
        return self._handle.call_live(lib.sotto_engine_set_request_tps, self._id[0], number("tps", tps))

    def drop(self) -> None:
        """Cancels the request if it has not ended, and discards its events. Never waits."""
        lib.sotto_engine_discard_request(self._handle.pointer, self._id[0])

    def next(self) -> Event:
        """Waits for the next event and returns it. Raises the request's error if it failed."""
        self._handle.require_outside("wait for a request of the engine")
        wait, args = lib.sotto_engine_wait_request_event, (self._id[0], SLICE_MS, self._event)
        while self._handle.call(wait, *args, error=self._error) == lib.SOTTO_EMPTY:
            pass
        event = read_event(self._event)
        raise_failure(event, self._error, refused=not self._accepted)
        self._accepted = True
        return event

    def finish(self, progress: Callable[[float], None] | None = None) -> Event:
        """Waits for the last event and returns it. Raises the request's error if it failed."""
        with self:
            while (event := self.next()).kind != "request_done":
                if event.kind == "progress" and progress is not None:
                    progress(event.progress)
            return event

    def settle(self) -> bool:
        """Waits up to 10 s for the request to end. Returns True if it ended with success."""
        pointer, name, event = self._handle.pointer, self._id[0], self._event
        for _ in range(_SETTLE_MS // SLICE_MS):
            if event.kind == lib.SOTTO_EVENT_REQUEST_DONE:
                return bool(event.status >= 0)
            if not name or lib.sotto_engine_wait_request_event(pointer, name, SLICE_MS, event) < 0:
                return False
        lib.sotto_engine_discard_request(pointer, name)
        return False


class Opening(Request):
    """A request that opens a session; `undo()` closes the session again."""

    def __init__(self, handle: Handle, close: Callable[[], Request]) -> None:
        super().__init__(handle, InferenceError, None)
        self._close = close

    def submit(self, desc: Any) -> None:
        """Submits the request."""
        self._handle.call(lib.sotto_engine_submit, desc, self._id, error=self._error)

    def drop(self) -> None:
        """Does nothing: `undo()` needs the result of the request."""

    def undo(self) -> None:
        """Cancels the request if it has not ended, and closes the session if it was opened."""
        if self._handle.closed:
            return
        lib.sotto_engine_cancel(self._handle.pointer, self._id[0])
        if self.settle():
            self._close().settle()


def raise_failure(event: Event, error: type[SottoError] = InferenceError, *, refused: bool) -> None:
    """Raises an error if `event` reports that its request failed."""
    if event.status < 0:
        raise failure(event.status, event.error, error, refused=refused)


def batches(pointer: Any) -> Iterator[list[Event]]:
    """Yields the events of an engine's queue in batches until the engine is destroyed. Holds no reference.

    A batch has at most 256 events, so that a producer that is faster than this thread does not delay it.
    """
    told = struct("sotto_event")
    while lib.sotto_engine_wait_for_events(pointer, -1) >= 0:
        batch: list[Event] = []
        while len(batch) < _BATCH and lib.sotto_engine_next_event(pointer, told) == lib.SOTTO_OK:
            batch.append(read_event(told))
        yield batch
