"""The reconciler: makes the placement run what the store declares. One process at a time has this role."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from sqlalchemy.exc import SQLAlchemyError

from .changes import Changes
from .housekeeping import Housekeeping
from .placement import Deployment, Placement
from .reports import Reports
from .role import Role
from .scaling import Scaling
from .store import Store, why
from .tables import Workload
from .workloads import Workloads

log = logging.getLogger("sotto.fleet")
_EVERY = 2.0  # seconds between two looks, if nothing changes


class Reconciler:
    """Compares declared workloads with deployed ones, whenever something changes."""

    def __init__(
        self,
        store: Store,
        changes: Changes,
        workloads: Workloads,
        placement: Placement,
        scaling: Scaling,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._changes, self._workloads = changes, workloads
        self._placement, self._scaling = placement, scaling
        self._role = Role(store, "reconciler", clock)
        self._reports = Reports(workloads)
        self._housekeeping = Housekeeping(store, placement, clock)
        self._removing: dict[str, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._waiter = changes.waiter()
        self._stopping = False

    @property
    def leads(self) -> bool:
        """True while this process has the role."""
        return self._role.held

    async def start(self) -> None:
        """Begins."""
        await self._placement.start(self._reports.note)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Ends; stops the placement and gives the role back."""
        self._stopping = True  # a transaction is never cancelled
        self._waiter.set()
        if self._task is not None:
            await self._task
        await asyncio.gather(*self._removing.values(), return_exceptions=True)
        await self._placement.stop()
        await self._reports.stop()
        if self._role.held:
            with suppress(SQLAlchemyError, OSError):
                await self._forget_addresses()
                await self._role.give_back()

    async def _run(self) -> None:
        while not self._stopping:
            try:
                await self.step()
            except (SQLAlchemyError, OSError) as error:
                self._role.lost_sight()
                log.warning("the store cannot be reached: %s", why(error))
            except Exception:
                log.exception("reconciliation failed")
            await self._changes.wait(_EVERY, self._waiter)

    async def step(self) -> bool:
        """Takes or keeps the role; reconciles if this process has it. Returns whether it has."""
        if not await self._lead():
            return False
        await self._housekeeping.run()
        await self.reconcile()
        return True

    async def reconcile(self) -> None:
        """Deploys what is declared and removes what is not."""
        declared = await self._workloads.desired()
        await self._scaling.look([one for one, _ in declared if one.deleted_at is None])
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
        wanted = self._scaling.wanted(workload)
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
            replicas=wanted.replicas,
            nodes=wanted.nodes,
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
        taken = await self._role.take()
        if taken and not self._role.held:
            log.info("this process reconciles")
            await self._forget_addresses()
        if self._role.held and not taken:
            log.warning("another process reconciles")
            await self._placement.stop()
            self._reports.clear()
        self._role.held = taken
        return taken

    async def _forget_addresses(self) -> None:
        if not self._placement.outlives:
            await self._workloads.clear_addresses()
