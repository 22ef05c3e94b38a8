"""The session of an agent as a turn needs it: that of `sotto.aio`, and that of `sotto.Engine` on threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

from .. import aio, session
from .._json import load
from ..completion import Delta, DeltaStream
from .threads import value_of

Message = dict[str, Any]


class Deltas(Protocol):
    """The parts of an answer."""

    def __aiter__(self) -> AsyncIterator[Delta]: ...

    async def aclose(self) -> None:
        """Cancels the rest of the answer."""


class Port(Protocol):
    """A session."""

    @property
    def id(self) -> str:
        """Id of the session."""

    def stream(self, said: list[Message], request: dict[str, Any], options: dict[str, Any]) -> Deltas:
        """Appends a turn and streams the answer."""

    async def read(self) -> dict[str, Any]:
        """Returns the session's id, model and messages."""

    async def rewind(self, keep: int) -> None:
        """Keeps the first messages alone."""


class AioPort:
    """A session of `sotto.aio`."""

    def __init__(self, given: aio.Session) -> None:
        self._session = given

    @property
    def id(self) -> str:
        """Id of the session."""
        return self._session.id

    def stream(self, said: list[Message], request: dict[str, Any], options: dict[str, Any]) -> Deltas:
        """Appends a turn and streams the answer."""
        return self._session.stream(said, request, **options)

    async def read(self) -> dict[str, Any]:
        """Returns the session's id, model and messages."""
        reading = self._session._engine._ask("read_session", {"session": self.id}, {})
        found: dict[str, Any] = load((await reading.finish()).json)
        return found

    async def rewind(self, keep: int) -> None:
        """Keeps the first messages alone."""
        await self._session.rewind(keep=keep)


class ThreadPort:
    """A session of `sotto.Engine`, whose calls run on threads."""

    def __init__(self, given: session.Session) -> None:
        self._session = given

    @property
    def id(self) -> str:
        """Id of the session."""
        return self._session.id

    def stream(self, said: list[Message], request: dict[str, Any], options: dict[str, Any]) -> Deltas:
        """Appends a turn and streams the answer."""
        return ThreadDeltas(lambda: self._session.stream(said, request, **options))

    async def read(self) -> dict[str, Any]:
        """Returns the session's id, model and messages."""
        engine = self._session._engine
        body = {"session": self.id}
        found: dict[str, Any] = load(
            await value_of(lambda: engine._ask("read_session", body, {}).finish().json)
        )
        return found

    async def rewind(self, keep: int) -> None:
        """Keeps the first messages alone."""
        await value_of(lambda: self._session.rewind(keep=keep))


class ThreadDeltas:
    """The parts of an answer, which a daemon thread takes from a blocking stream."""

    def __init__(self, start: Callable[[], DeltaStream]) -> None:
        self._start = start
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Delta | BaseException | None] = asyncio.Queue()
        self._lock = threading.Lock()  # guards the fields below
        self._stream: DeltaStream | None = None
        self._closed = False
        threading.Thread(target=self._pump, name="sotto-agent-answer", daemon=True).start()

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        part = await self._queue.get()
        if isinstance(part, BaseException):
            raise part
        if part is None:
            raise StopAsyncIteration
        return part

    async def aclose(self) -> None:
        """Cancels the rest of the answer. A second call does nothing."""
        with self._lock:
            self._closed = True
            stream = self._stream
        if stream is not None:
            stream.close()

    def _pump(self) -> None:
        try:
            stream = self._start()
            with self._lock:
                self._stream = stream
                closed = self._closed
            if closed:
                stream.close()
            for delta in stream:
                self._post(delta)
            self._post(None)
        except BaseException as error:
            self._post(error)

    def _post(self, part: Delta | BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._queue.put_nowait, part)
