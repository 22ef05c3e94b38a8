"""Runs the answers of a `Llama` on threads, for asyncio, one after the other."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from threading import get_ident
from typing import Any, Generic, Protocol, TypeVar, cast

from .._handle import Unique
from .errors import LlamaError

Result = TypeVar("Result")
Made = TypeVar("Made", covariant=True)
_END: Any = object()


class Answering(Protocol[Made]):
    """An answer that is waited for as a whole."""

    def finish(self) -> Made: ...

    def cancel(self) -> None: ...


class Streaming(Protocol[Made]):
    """A stream that yields parts of an answer."""

    def __next__(self) -> Made: ...

    def close(self) -> None: ...


class LoopTurns:
    """Locks of the event loops that use one `Llama`, so that no more than one thread a loop waits for it."""

    def __init__(self) -> None:
        self._locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]
        self._locks = weakref.WeakKeyDictionary()
        self._streaming: asyncio.Task[Any] | None = None  # the task that made the open stream

    async def whole(self, start: Callable[[int], Answering[Result]]) -> Result:
        """Submits an answer, waits for it and returns it. `start` gets the thread of the loop."""
        async with self._turn():
            thread = get_ident()
            answer = await in_thread(lambda: start(thread), lambda made: made.cancel())
            return await in_thread(answer.finish, None, answer.cancel)

    async def call(self, function: Callable[[], Result]) -> Result:
        """Calls a function on a thread, and returns its result."""
        async with self._turn():
            return await in_thread(function)

    async def stream(self, start: Callable[[int], Streaming[Result]]) -> AsyncStream[Result]:
        """Submits an answer and returns its stream, which holds the turn until it ends."""
        lock = await self._begin()
        try:
            thread = get_ident()
            made = await in_thread(lambda: start(thread), lambda one: one.close())
        except BaseException:
            lock.release()
            raise
        self._streaming = asyncio.current_task()
        return AsyncStream(made, lambda: self._end(lock))

    def _end(self, lock: asyncio.Lock) -> None:
        self._streaming = None
        lock.release()

    async def _begin(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        lock = self._locks.setdefault(loop, asyncio.Lock())
        if lock.locked() and self._streaming is asyncio.current_task():
            raise LlamaError(
                "a stream of this Llama is not finished; read it to its end, or call its aclose()"
            )
        await lock.acquire()
        return lock

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        lock = await self._begin()
        try:
            yield
        finally:
            lock.release()


class AsyncStream(Unique, Generic[Result]):
    """Iterates over an answer: text, or OpenAI chunks. Closing it cancels the rest.

    >>> async for text in await llm.generate_async("Once", stream=True):
    ...     print(text, end="", flush=True)
    """

    def __init__(self, stream: Streaming[Result], end: Callable[[], None]) -> None:
        self._stream = stream
        self._end = weakref.finalize(self, _finish, stream, end, asyncio.get_running_loop(), get_ident())
        self._end.atexit = False

    def __aiter__(self) -> AsyncStream[Result]:
        return self

    async def __anext__(self) -> Result:
        if not self._end.alive:
            raise StopAsyncIteration
        try:
            part = await in_thread(lambda: next(cast(Any, self._stream), _END), None, self._stream.close)
        except BaseException:
            await self.aclose()
            raise
        if part is _END:
            await self.aclose()
            raise StopAsyncIteration
        return cast(Result, part)

    async def __aenter__(self) -> AsyncStream[Result]:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancels the rest of the answer. A second call does nothing."""
        self._end()


def _finish(
    stream: Streaming[Any], end: Callable[[], None], loop: asyncio.AbstractEventLoop, thread: int
) -> None:
    """Closes a stream and gives its turn back, on the thread of the loop."""
    stream.close()
    if get_ident() == thread:
        end()
        return
    with suppress(RuntimeError):  # the loop is closed, and its tasks with it
        loop.call_soon_threadsafe(end)


async def in_thread(
    function: Callable[[], Result],
    undo: Callable[[Result], object] | None = None,
    cancel: Callable[[], object] | None = None,
) -> Result:
    """Calls a function on a thread and returns its result.

    If the task is cancelled, `cancel` is called at once, and `undo` with the result when there is one.
    """
    future = asyncio.get_running_loop().run_in_executor(None, function)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if cancel is not None:
            cancel()
        future.add_done_callback(lambda done: _undone(done, undo))
        raise


def _undone(done: asyncio.Future[Result], undo: Callable[[Result], object] | None) -> None:
    if done.cancelled() or done.exception() is not None or undo is None:
        return
    undo(done.result())
