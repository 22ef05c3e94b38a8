"""`LocalPlacement`: runs each workload as a process of this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from ...errors import ArgumentError
from .placement import Deployment, Node, Places, Reporter
from .runner import NODE, Machine, Runner

_MAX_SOCKET_PATH = 60  # bytes of the folder's path; a socket's whole path has at most 107


class LocalPlacement:
    """Runs workloads on this machine: one process each, however many replicas are asked for.

    Args:
        folder: Folder of sockets and logs, private to this user.
        memory_mb: Memory of all workloads together, in MB; None: what the machine has available.
        drain: Seconds for which running answers may go on when a process is ended.
    """

    outlives = False

    def __init__(self, folder: Path, *, memory_mb: int | None = None, drain: float = 10.0) -> None:
        if len(os.fsencode(folder)) > _MAX_SOCKET_PATH:
            raise ArgumentError(
                f"invalid folder '{folder}': expected a path of at most {_MAX_SOCKET_PATH} bytes"
            )
        self._folder, self._memory_mb, self._drain = folder, memory_mb, drain
        self._runners: dict[str, Runner] = {}
        self._report: Reporter | None = None

    async def start(self, report: Reporter) -> None:
        """Begins; makes the folder."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._report = report

    async def nodes(self) -> list[Node]:
        """Returns this machine."""
        from ... import __version__

        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limit = memory if self._memory_mb is None else self._memory_mb << 20
        return [Node(NODE, os.cpu_count() or 1, limit, (), __version__)]

    async def deploy(self, deployment: Deployment) -> None:
        """Starts a workload, or replaces its process."""
        if self._report is None:
            raise RuntimeError("the placement was not started")
        runner = self._runners.get(deployment.workload_id)
        if runner is None:
            machine = Machine(self._folder, self._drain, lambda: self._free_mb(deployment.workload_id))
            runner = self._runners[deployment.workload_id] = Runner(machine, self._report)
        await runner.become(deployment)

    async def remove(self, workload_id: str) -> None:
        """Ends the process of a workload after its running answers."""
        runner = self._runners.get(workload_id)
        if runner is not None:
            await runner.stop()
            self._runners.pop(workload_id, None)

    def deployed(self) -> Mapping[str, Deployment]:
        """Returns what is deployed."""
        return {id: one.deployment for id, one in self._runners.items() if one.deployment is not None}

    def places(self, workload_id: str) -> Places:
        """Returns whether the process answers: one fits."""
        runner = self._runners.get(workload_id)
        ready = {NODE: 1} if runner is not None and runner.ready else {}
        return Places(ready, {NODE: 1})

    def pids(self) -> list[int]:
        """Returns the ids of all processes."""
        return [pid for runner in self._runners.values() for pid in runner.pids()]

    async def stop(self) -> None:
        """Ends all processes."""
        await asyncio.gather(*(runner.stop() for runner in self._runners.values()))
        self._runners.clear()

    def _free_mb(self, workload_id: str) -> int | None:
        """Returns the memory that other workloads leave; None: no limit is set."""
        if self._memory_mb is None:
            return None
        others = sum(one.planned_mb for id, one in self._runners.items() if id != workload_id)
        return max(self._memory_mb - others, 1)
