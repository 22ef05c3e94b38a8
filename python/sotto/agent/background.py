"""The event loop on which blocking agents run: one of the process, on a daemon thread."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from ..errors import SottoError, Status

Result = TypeVar("Result")

_lock = threading.Lock()  # guards _made
_made: tuple[int, asyncio.AbstractEventLoop, int] | None = None  # process, loop, thread


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine on the loop, and waits for its result. Cancels it if the wait is interrupted.

    Raises:
        SottoError: This thread is that of the loop, which would wait for itself.
    """
    loop, thread = _running()
    if threading.get_ident() == thread:
        work.close()
        raise SottoError(
            "a coroutine tool cannot wait for a blocking agent: use a function, or sotto.agent.aio",
            Status.STATE,
        )
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def join(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine on the loop, and awaits its result on any loop. Cancelling this cancels it."""
    loop, _ = _running()
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


def post(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    """Cancels a task of a loop, from any thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(task.cancel)


def _running() -> tuple[asyncio.AbstractEventLoop, int]:
    global _made
    with _lock:
        if _made is None or _made[0] != os.getpid():  # a forked child has no thread for the loop
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="sotto-agent", daemon=True)
            thread.start()
            _made = (os.getpid(), loop, thread.ident or 0)
        return _made[1], _made[2]
