"""The reconciler: makes the placement run what the store declares. One process at a time has this role."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from contextlib import suppress

from sqlalchemy import delete, or_, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from . import policies
from .changes import Changes
from .placement import Deployment, Placement
from .store import Store
from .tables import Lease, NodeRow, Workload
from .workloads import Workloads

log = logging.getLogger("sotto.fleet")
_LEASE = 15.0  # seconds after which another process may take the role
_EVERY = 2.0  # seconds between two looks, if nothing changes
_NODES_EVERY = 10.0  # seconds between two notes of the nodes


class Reconciler:
    """Compares declared workloads with deployed ones, whenever something changes."""

    def __init__(
        self,
        store: Store,
        changes: Changes,
        workloads: Workloads,
        placement: Placement,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._changes, self._workloads = store, changes, workloads
        self._placement, self._clock = placement, clock
        self._id = secrets.token_hex(8)
        self._leads = False
        self._noted = -_NODES_EVERY
        self._removing: dict[str, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._waiter = changes.waiter()
        self._stopping = False

    @property
    def leads(self) -> bool:
        """True while this process has the role."""
        return self._leads

    async def start(self) -> None:
        """Begins."""
        await self._placement.start(self._workloads.report)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Ends; stops the placement and gives the role back."""
        self._stopping = True  # a transaction is never cancelled
        self._waiter.set()
        if self._task is not None:
            await self._task
        await asyncio.gather(*self._removing.values(), return_exceptions=True)
        await self._placement.stop()
        if self._leads:
            with suppress(SQLAlchemyError, OSError):
                await self._forget_addresses()
                async with self._store.write() as session:
                    await session.execute(delete(Lease).where(Lease.holder == self._id))

    async def _run(self) -> None:
        while not self._stopping:
            try:
                if await self._lead():
                    await self._note_nodes()
                    await self.reconcile()
            except (SQLAlchemyError, OSError) as error:
                log.warning("the store cannot be reached: %s", str(error).splitlines()[0])
            except Exception:
                log.exception("reconciliation failed")
            await self._changes.wait(_EVERY, self._waiter)

    async def reconcile(self) -> None:
        """Deploys what is declared and removes what is not."""
        declared = await self._workloads.desired()
        deployed = self._placement.deployed()
        for workload, project in declared:
            if workload.deleted_at is not None:
                self._remove(workload.id)
            elif workload.id not in self._removing:
                wanted = self._deployment(workload, project)
                if deployed.get(workload.id) != wanted:
                    await self._placement.deploy(wanted)
        for id in set(deployed) - {workload.id for workload, _ in declared}:
            self._remove(id)

    def _deployment(self, workload: Workload, project: str) -> Deployment:
        policy, config = workload.execution_policy, workload.execution_policy_config
        return Deployment(
            workload_id=workload.id,
            generation=workload.generation,
            project=project,
            slug=workload.slug,
            model=workload.model_name,
            backend=workload.backend,
            task_type=workload.task_type,
            config=workload.config,
            worker_id=workload.worker_id,
            gpu_resource_id=workload.gpu_resource_id,
            replicas=policies.replicas(policy, config, self._clock()),
        )

    def _remove(self, id: str) -> None:
        """Begins to stop a workload, which may take as long as its running answers."""
        if id in self._removing:
            return

        async def remove() -> None:
            try:
                await self._placement.remove(id)
                await self._workloads.forget(id)
            except Exception:
                log.exception("workload %s was not removed; trying again", id)
            finally:
                self._removing.pop(id, None)

        self._removing[id] = asyncio.create_task(remove())

    async def _lead(self) -> bool:
        """Takes or keeps the role. Returns whether this process has it."""
        now = self._clock()
        free = or_(Lease.holder == self._id, Lease.expires_at < now)
        change = update(Lease).where(Lease.name == "reconciler", free)
        async with self._store.write() as session:
            result = await session.execute(change.values(holder=self._id, expires_at=now + _LEASE))
            taken = bool(result.rowcount)  # type: ignore[attr-defined]
            exists = taken or await session.get(Lease, "reconciler") is not None
        if not exists:
            with suppress(IntegrityError):
                async with self._store.write() as session:
                    session.add(Lease(name="reconciler", holder=self._id, expires_at=now + _LEASE))
                taken = True
        if taken and not self._leads:
            log.info("this process reconciles")
            await self._forget_addresses()
        if self._leads and not taken:
            log.warning("another process reconciles")
            await self._placement.stop()
        self._leads = taken
        return taken

    async def _forget_addresses(self) -> None:
        if not self._placement.outlives:
            await self._workloads.clear_addresses()

    async def _note_nodes(self) -> None:
        now = self._clock()
        if now - self._noted < _NODES_EVERY:
            return
        self._noted = now
        nodes = await self._placement.nodes()
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


async def nodes_of(store: Store) -> list[NodeRow]:
    """Returns the nodes that were noted last."""
    async with store.read() as session:
        return list((await session.scalars(select(NodeRow).order_by(NodeRow.id))).all())
