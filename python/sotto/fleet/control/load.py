"""The load of workloads: what each process measures, noted in the store, and summed over all processes."""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Mapping

from sqlalchemy import delete, select

from .meter import Live, Meter, total
from .periodic import Periodic
from .store import Store
from .tables import LoadRow

_EVERY = 2.0  # seconds between two notes
_STALE = 10.0  # seconds after which the note of a process that does not renew it counts no more


class LoadLog:
    """Notes what a meter measures every two seconds, in a row for each workload in use."""

    def __init__(self, store: Store, meter: Meter, clock: Callable[[], float] = time.time) -> None:
        self._store, self._meter, self._clock = store, meter, clock
        self._writer = secrets.token_hex(8)
        self._noted: set[str] = set()  # workloads that have a row
        self._periodic = Periodic(self.flush, _EVERY, "the load is not noted")

    async def start(self) -> None:
        """Begins."""
        await self._periodic.start()

    async def stop(self) -> None:
        """Ends; removes the rows."""
        await self._periodic.stop(lambda: self._note({}))

    async def flush(self) -> None:
        """Notes what is measured now."""
        await self._note(self._meter.live())

    async def _note(self, lives: Mapping[str, Live]) -> None:
        if not lives and not self._noted:
            return
        at = self._clock()
        async with self._store.write() as session:
            for id, live in lives.items():
                columns = {**live._asdict(), "waits": list(live.waits), "at": at}
                row = self._store.insert(LoadRow).values(workload_id=id, writer=self._writer, **columns)
                keys = ["workload_id", "writer"]
                await session.execute(row.on_conflict_do_update(index_elements=keys, set_=columns))
            mine = LoadRow.writer == self._writer
            await session.execute(delete(LoadRow).where(mine, LoadRow.workload_id.not_in(lives)))
        self._noted = set(lives)


class FleetLoad:
    """The load of all workloads, of all processes together.

    Clocks of machines differ: a note counts as long as it was seen to be renewed within the last 10 seconds
    of this process's own time.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._seen: dict[tuple[str, str], tuple[float, float]] = {}  # note's time, and when it was seen first

    async def read(self) -> dict[str, Live]:
        """Returns the load of each workload that is in use, by its id."""
        async with self._store.read() as session:
            rows = list((await session.scalars(select(LoadRow))).all())
        now = self._clock()
        seen, lives = {}, defaultdict(list)
        for row in rows:
            key = (row.workload_id, row.writer)
            at, since = self._seen.get(key, (row.at, now))
            seen[key] = (row.at, since if at == row.at else now)
            if now - seen[key][1] <= _STALE:
                figures = {name: getattr(row, name) for name in Live._fields}
                lives[row.workload_id].append(Live(**{**figures, "waits": tuple(row.waits)}))
        self._seen = seen
        return {id: total(found) for id, found in lives.items()}
