"""`RayPlacement`: runs each workload as an application of Ray Serve."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from ..control.placement import Deployment, Node, Places, Reporter
from .cluster import Cluster
from .view import View
from .workload import Limits, Workload


class RayPlacement:
    """Runs workloads on the nodes of a Ray cluster; they go on without this process.

    Args:
        cluster: The cluster; `start()` connects to it.
        cores: Cores of a replica whose workload sets no `config.threads`.
        room_wait: Seconds for which a new version waits for room that other replicas have reserved.
    """

    outlives = True

    def __init__(self, cluster: Cluster, *, cores: float = 1.0, room_wait: float = 300.0) -> None:
        self._view = View(cluster)
        self._limits = Limits(cores, room_wait)
        self._workloads: dict[str, Workload] = {}
        self._report: Reporter | None = None

    async def start(self, report: Reporter) -> None:
        """Connects to the cluster.

        Raises:
            ArgumentError: No cluster answers.
        """
        await self._view.call(self._view.cluster.connect)
        self._report = report
        self._view.start()
        await self._view.next()

    async def nodes(self) -> list[Node]:
        """Returns the nodes of the cluster that have a name; none while it does not answer."""
        self._view.start()
        found = [] if self._view.away else self._view.state.nodes
        return [
            Node(one.name, int(one.cores), one.memory, (one.gpu,) if one.gpu else (), one.version)
            for one in found
        ]

    async def deploy(self, deployment: Deployment) -> None:
        """Starts a workload, takes over its running applications, or replaces them."""
        await self._workload(deployment.workload_id).become(deployment)

    async def remove(self, workload_id: str) -> None:
        """Ends the applications of a workload after their running answers."""
        await self._workload(workload_id).remove(workload_id)
        self._workloads.pop(workload_id, None)

    def deployed(self) -> Mapping[str, Deployment]:
        """Returns what this process deployed or took over.

        The store keeps a deleted workload until `remove()` returns; applications that it does not know are
        those of another store.
        """
        return {id: one.deployment for id, one in self._workloads.items() if one.deployment is not None}

    def places(self, workload_id: str) -> Places:
        """Returns where replicas of a workload run, and may run."""
        return self._workload(workload_id).places(workload_id)

    async def stop(self) -> None:
        """Stops watching the cluster; workloads go on."""
        await asyncio.gather(*(one.release() for one in self._workloads.values()))
        self._workloads.clear()
        await self._view.stop()

    def _workload(self, id: str) -> Workload:
        if self._report is None:
            raise RuntimeError("the placement was not started")
        self._view.start()
        found = self._workloads.get(id)
        if found is None:
            found = self._workloads[id] = Workload(self._view, self._report, self._limits)
        return found
