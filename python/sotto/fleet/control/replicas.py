"""The replicas that clients ask at their own addresses, as the store knows them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import delete, select

from .changes import REPLICAS, Changes
from .store import Store
from .tables import Project, ReplicaRow, Workload

BEAT = 60.0  # seconds between two calls of `add()` for one replica
_MAX_AGE = 600.0  # seconds after which a replica that did not renew its row is no longer known


class Place(NamedTuple):
    """Where clients find a replica.

    Attributes:
        workload_id: Its workload.
        generation: Version of the workload.
        name: Its name, unique in the version.
        address: IP address.
        port: Port.
    """

    workload_id: str
    generation: int
    name: str
    address: str
    port: int


class Replicas:
    """The replicas of all workloads.

    A replica renews its row every minute. Whether it answers, an ingress finds out by itself: one that
    was killed stays here until another takes its name, or for ten minutes.
    """

    def __init__(self, store: Store, changes: Changes, clock: Callable[[], float] = time.time) -> None:
        self._store, self._changes, self._clock = store, changes, clock

    async def add(self, place: Place) -> None:
        """Notes that a replica takes requests, in place of one with its name."""
        now = self._clock()
        row = self._store.insert(ReplicaRow).values(**place._asdict(), seen_at=now)
        keys = ["workload_id", "generation", "name"]
        changed = {"address": place.address, "port": place.port, "seen_at": now}
        async with self._store.write() as session:
            before = await session.get(ReplicaRow, place[:3])
            known = before is not None and (before.address, before.port) == place[3:]
            seen_at = 0.0 if before is None else before.seen_at
            await session.execute(row.on_conflict_do_update(index_elements=keys, set_=changed))
            gone = False
            if seen_at > now - 2 * BEAT:  # the store was not down meanwhile
                old = await session.execute(delete(ReplicaRow).where(ReplicaRow.seen_at < now - _MAX_AGE))
                gone = bool(old.rowcount)  # type: ignore[attr-defined]
            if gone or not known:
                await self._changes.announce(session, REPLICAS)
        if gone or not known:
            self._changes.deliver(REPLICAS)

    async def remove(self, place: Place) -> None:
        """Notes that a replica takes no further requests; does nothing if another has its name."""
        async with self._store.write() as session:
            names = ("workload_id", "generation", "name", "address", "port")
            mine = [getattr(ReplicaRow, name) == getattr(place, name) for name in names]
            await session.execute(delete(ReplicaRow).where(*mine))
            await self._changes.announce(session, REPLICAS)
        self._changes.deliver(REPLICAS)

    async def serving(self) -> dict[tuple[str, str], list[Place]]:
        """Returns the replicas of the version that serves, for each workload.

        Workloads are named by the slugs of their project and their own. One without replicas is there, with
        none.
        """
        query = (
            select(Project.slug, Workload.slug, ReplicaRow)
            .select_from(Workload)
            .join(Project, Project.id == Workload.project_id)
            .outerjoin(
                ReplicaRow,
                (ReplicaRow.workload_id == Workload.id) & (ReplicaRow.generation == Workload.serving),
            )
            .where(Workload.deleted_at.is_(None))
            .order_by(Project.slug, Workload.slug, ReplicaRow.name)
        )
        found: dict[tuple[str, str], list[Place]] = {}
        async with self._store.read() as session:
            for project, workload, row in (await session.execute(query)).all():
                places = found.setdefault((project, workload), [])
                if row is not None:
                    places.append(Place(*(getattr(row, name) for name in Place._fields)))
        return found
