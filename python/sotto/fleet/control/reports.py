"""`Reports`: progress of workloads, written to the store in order; kept while the store cannot be written."""

from __future__ import annotations

import asyncio
import logging

from sqlalchemy.exc import SQLAlchemyError

from .placement import Report
from .store import why
from .workloads import Workloads

log = logging.getLogger("sotto.fleet")
_RETRY = 0.5  # seconds before kept reports are tried again
_MAX_KEPT = 1000  # reports; the oldest go


class Reports:
    """Notes reports. A placement never waits for a store that is down, nor fails because of it."""

    def __init__(self, workloads: Workloads) -> None:
        self._workloads = workloads
        self._kept: list[Report] = []
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def note(self, report: Report) -> None:
        """Writes a report, or keeps it for later."""
        if self._task is None:
            try:
                await self._workloads.report(report)
                return
            except (SQLAlchemyError, OSError) as error:
                log.warning("reports of workloads are kept until the store is back: %s", why(error))
        self._kept.append(report)
        del self._kept[:-_MAX_KEPT]
        if self._task is None and not self._stopping.is_set():
            self._task = asyncio.create_task(self._write())

    def clear(self) -> None:
        """Drops what is kept: another process reports now."""
        self._kept.clear()

    async def stop(self) -> None:
        """Ends; drops what is kept."""
        self._stopping.set()
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        """Writes what is kept, until nothing is."""
        try:
            while self._kept and not self._stopping.is_set():
                report = self._kept.pop(0)
                try:
                    await self._workloads.report(report)
                except (SQLAlchemyError, OSError):
                    self._kept.insert(0, report)
                    with_pause = asyncio.wait_for(self._stopping.wait(), _RETRY)
                    await asyncio.gather(with_pause, return_exceptions=True)
        finally:
            self._task = None
