"""`Periodic`: writes what a process keeps to the store, again and again, and once more at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from sqlalchemy.exc import SQLAlchemyError

from .store import why

log = logging.getLogger("sotto.fleet")


class Periodic:
    """Calls a function every few seconds. A store that is down is logged, and the next call comes.

    Args:
        write: The function.
        every: Seconds between two calls.
        missed: What the log says if the store is down.
    """

    def __init__(self, write: Callable[[], Awaitable[None]], every: float, missed: str) -> None:
        self._write, self._every, self._missed = write, every, missed
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        """Begins."""
        self._task = asyncio.create_task(self._run())

    async def stop(self, last: Callable[[], Awaitable[None]]) -> None:
        """Ends after a call that runs; then calls `last`, unless the store is down."""
        self._stopping.set()
        if self._task is not None:
            await self._task
        with suppress(SQLAlchemyError, OSError):
            await last()

    async def _run(self) -> None:
        while not self._stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._every)
            try:
                await self._write()
            except (SQLAlchemyError, OSError) as error:
                log.warning("%s until the store is back: %s", self._missed, why(error))
