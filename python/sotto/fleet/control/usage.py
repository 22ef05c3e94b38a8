"""Usage: counted in this process, added to the store every second; kept while the store is down."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import func, select

from .periodic import Periodic
from .store import Store
from .tables import Project, Usage, UsageWriter

_EVERY = 1.0  # seconds
_TAIL = 64 << 10  # bytes at the end of an answer in which its counts are looked for
_COUNTS = ("requests", "failures", "prompt_tokens", "completion_tokens")


class Counts(NamedTuple):
    """Tokens of one answer."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


Key = tuple[str, str, str, int]  # project, workload, key and hour


class UsageLog:
    """Counts of answers by project, workload, key and hour.

    Counts are added to the store in numbered batches. If the store goes down amid a commit, the outcome is
    unknown; the next attempt has the same number, and the store adds no number twice.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._pending: dict[Key, list[int]] = {}
        self._batch: dict[Key, list[int]] = {}  # what is being added
        self._number = 0  # of the batch
        self._writer = secrets.token_hex(8)
        self._writing = asyncio.Lock()
        self._periodic = Periodic(self.flush, _EVERY, "usage is kept")

    def count(self, project_id: str, workload_id: str, token_id: str, counts: Counts, failed: bool) -> None:
        """Adds one answer."""
        key = (project_id, workload_id, token_id, int(self._clock() // 3600))
        sums = self._pending.setdefault(key, [0] * len(_COUNTS))
        for place, value in enumerate((1, int(failed), *counts)):
            sums[place] += value

    async def start(self) -> None:
        """Begins to write."""
        await self._periodic.start()

    async def stop(self) -> None:
        """Writes what is left, and ends."""
        await self._periodic.stop(self.flush)

    async def flush(self) -> None:
        """Adds what was counted to the store."""
        async with self._writing:
            while self._batch or self._pending:
                if not self._batch:
                    self._batch, self._pending = self._pending, {}
                    self._number += 1
                await self._add()
                self._batch = {}

    async def _add(self) -> None:
        """Adds the batch in one transaction, unless the store has it."""
        async with self._store.write() as session:
            mine = {"batch": self._number, "at": self._clock()}
            first = self._store.insert(UsageWriter).values(id=self._writer, **mine)
            unknown = UsageWriter.batch < self._number
            noting = first.on_conflict_do_update(index_elements=["id"], set_=mine, where=unknown)
            if (await session.scalars(noting.returning(UsageWriter.id))).first() is None:
                return
            for (project, workload, token, hour), sums in sorted(self._batch.items()):
                insert = self._store.insert(Usage).values(
                    project_id=project,
                    workload_id=workload,
                    token_id=token,
                    hour=hour,
                    **dict(zip(_COUNTS, sums, strict=True)),
                )
                added = {name: getattr(Usage, name) + getattr(insert.excluded, name) for name in _COUNTS}
                keys = ["project_id", "workload_id", "token_id", "hour"]
                await session.execute(insert.on_conflict_do_update(index_elements=keys, set_=added))


async def totals(store: Store, project: str | None = None, since: float = 0.0) -> list[dict[str, Any]]:
    """Returns sums by project, workload and key since a point in time."""
    sums = [func.sum(getattr(Usage, name)).label(name) for name in _COUNTS]
    keys = (Project.slug, Usage.workload_id, Usage.token_id)
    query = select(*keys, *sums).join(Project, Project.id == Usage.project_id)
    query = query.where(Usage.hour >= int(since // 3600)).group_by(*keys).order_by(*keys)
    if project is not None:
        query = query.where(Project.slug == project)
    async with store.read() as session:
        rows = (await session.execute(query)).all()
    names = ("project", "workload_id", "token_id", *_COUNTS)
    return [dict(zip(names, row, strict=True)) for row in rows]


class Tail:
    """The last bytes of an answer, where servers put its counts; and the number of events of a stream.

    Args:
        wrote: Receives the number of events in each piece.
    """

    def __init__(self, wrote: Callable[[int], None] = lambda events: None) -> None:
        self._data = bytearray()
        self._events, self._wrote = 0, wrote

    def add(self, piece: bytes) -> None:
        """Adds bytes of the answer."""
        events = piece.count(b"data: {")
        self._events += events
        self._wrote(events)
        self._data += piece
        del self._data[:-_TAIL]

    def counts(self) -> Counts:
        """Returns the tokens of the answer: from `usage`, from `timings`, or the number of its events."""
        for body in self._bodies(b'"usage"', b'"timings"'):
            if (found := _counts(body)) is not None:
                return found
        return Counts(0, max(self._events - 1, 0))

    def generation_s(self) -> float | None:
        """Returns the seconds from the first token to the last, from `timings`; None: it has none."""
        for body in self._bodies(b'"timings"'):
            if isinstance(body, dict) and isinstance(timings := body.get("timings"), dict):
                found = timings.get("predicted_ms")
                if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found < math.inf:
                    return found / 1000
                return None
        return None

    def _bodies(self, *names: bytes) -> Iterator[Any]:
        """Yields the JSON values of those lines of the answer that have one of the names, the last first."""
        for line in reversed(bytes(self._data).splitlines()):
            if any(name in line for name in names):
                with suppress(ValueError, RecursionError):
                    yield json.loads(line.removeprefix(b"data: "))


def _counts(body: Any) -> Counts | None:
    if not isinstance(body, dict):
        return None
    usage, timings = body.get("usage"), body.get("timings")
    if isinstance(usage, dict):
        return Counts(_whole(usage.get("prompt_tokens")), _whole(usage.get("completion_tokens")))
    if isinstance(timings, dict):
        prompt = _whole(timings.get("prompt_n")) + _whole(timings.get("cache_n"))
        return Counts(prompt, _whole(timings.get("predicted_n")))
    return None


def _whole(value: Any) -> int:
    valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if valid else 0
