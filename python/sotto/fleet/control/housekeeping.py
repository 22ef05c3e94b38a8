"""`Housekeeping`: notes the nodes in the store, and removes rows that nothing needs any more."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import delete, exists, select

from .placement import Placement
from .store import Store
from .tables import Job, LoadRow, NodeRow, Quota, QuotaWindow, UsageWriter

_NODES_EVERY = 10.0  # seconds between two notes of the nodes
_PRUNE_EVERY = 3600.0  # seconds
_KEPT_JOBS = 7 * 86_400.0  # seconds for which a job that ended is kept
_KEPT_NODES = 86_400.0  # seconds for which a node is kept after it was last there
_KEPT_LOAD = 3600.0  # seconds after which the load that a process noted last is of no use
_KEPT_WRITERS = 7 * 86_400.0  # seconds after which no process tries a write of usage again


class Housekeeping:
    """What the process with the reconciler's role does beside it, now and then."""

    def __init__(self, store: Store, placement: Placement, clock: Callable[[], float] = time.time) -> None:
        self._store, self._placement, self._clock = store, placement, clock
        self._noted = self._pruned = 0.0

    async def run(self) -> None:
        """Notes the nodes if 10 s have passed; prunes if an hour has passed."""
        now = self._clock()
        if abs(now - self._noted) >= _NODES_EVERY:
            self._noted = now
            await self.note_nodes()
        if abs(now - self._pruned) >= _PRUNE_EVERY:
            self._pruned = now
            await self.prune()

    async def note_nodes(self) -> None:
        """Notes the nodes of the placement."""
        now, nodes = self._clock(), await self._placement.nodes()
        async with self._store.write() as session:
            for node in nodes:
                columns = {
                    "cores": node.cores,
                    "memory": float(node.memory),
                    "gpus": list(node.gpus),
                    "version": node.version,
                    "seen_at": now,
                }
                insert = self._store.insert(NodeRow).values(id=node.id, **columns)
                await session.execute(insert.on_conflict_do_update(index_elements=["id"], set_=columns))

    async def prune(self) -> None:
        """Removes jobs that ended a week ago, windows of quotas that are over, and nodes that left."""
        now = self._clock()
        running = select(Quota.id).where(
            Quota.id == QuotaWindow.quota_id, (QuotaWindow.window + 2) * Quota.seconds > now
        )
        async with self._store.write() as session:
            for statement in (
                delete(Job).where(Job.state.in_(("done", "failed")), Job.due_at < now - _KEPT_JOBS),
                delete(QuotaWindow).where(~exists(running)),
                delete(NodeRow).where(NodeRow.seen_at < now - _KEPT_NODES),
                delete(LoadRow).where(LoadRow.at < now - _KEPT_LOAD),
                delete(UsageWriter).where(UsageWriter.at < now - _KEPT_WRITERS),
            ):
                await session.execute(statement.execution_options(synchronize_session=False))


async def nodes_of(store: Store) -> list[NodeRow]:
    """Returns the nodes that were noted last."""
    async with store.read() as session:
        return list((await session.scalars(select(NodeRow).order_by(NodeRow.id))).all())
