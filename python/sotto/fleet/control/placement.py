"""`Placement`: what runs workloads, as the control plane sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

PHASES = ("scheduling", "provisioning", "bootstrapping", "ready", "error")
STEPS = frozenset({"plan", "process_start", "model_download", "model_load", "drain", "restart"})


@dataclass(frozen=True)
class Deployment:
    """A workload that is to run.

    Attributes:
        workload_id: Its id, which no other workload ever has.
        generation: Number of its version; a higher one replaces it.
        project: Slug of its project.
        slug: Its slug.
        model: What to load.
        backend: Value of `Backend`.
        task_type: Value of `TaskType`.
        config: Settings of the backend; `command`: the launch command.
        worker_id: Node to run on; None: any.
        gpu_resource_id: GPU to run on; None: any.
        replicas: Processes that answer; 0: none for now.
        nodes: Names of the nodes that it may run on; None: all.
    """

    workload_id: str
    generation: int
    project: str
    slug: str
    model: str
    backend: str
    task_type: str
    config: Mapping[str, Any] = field(default_factory=dict)
    worker_id: str | None = None
    gpu_resource_id: str | None = None
    replicas: int = 1
    nodes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Report:
    """How far a deployment has come.

    Attributes:
        workload_id: The workload.
        generation: The version that this is about.
        phase: One of `PHASES`.
        message: Short text.
        step: One of `STEPS`, or None.
        address: Where the gateway finds the workload, `unix:PATH` or a URL; None: nowhere. While a version
            starts, that of the version before.
        serving: The version at `address`, if its replicas take requests of clients directly; else None.
        ready: Number of replicas that answer.
        wanted: Number of replicas that are to answer.
    """

    workload_id: str
    generation: int
    phase: str
    message: str
    step: str | None = None
    address: str | None = None
    serving: int | None = None
    ready: int = 0
    wanted: int = 0


@dataclass(frozen=True)
class Node:
    """A machine that runs workloads. `memory`: bytes. `gpus`: ids of its GPUs."""

    id: str
    cores: int
    memory: int
    gpus: tuple[str, ...] = ()
    version: str = ""


@dataclass(frozen=True)
class Places:
    """Where replicas of a workload run, and may run.

    Attributes:
        ready: Node to number of replicas that answer.
        room: Node to number of replicas that fit, those that run included; 1 as long as that is unknown.
        nodes: Names of the nodes that the deployed version may run on; None: unknown.
    """

    ready: Mapping[str, int] = field(default_factory=dict)
    room: Mapping[str, int] = field(default_factory=dict)
    nodes: tuple[str, ...] | None = None


Reporter = Callable[[Report], Awaitable[None]]


class Placement(Protocol):
    """Runs deployments on nodes. One reconciler at a time calls it, from one event loop.

    No method waits for a model: progress is reported. Reports of one workload come in order.

    Attributes:
        outlives: True if workloads go on without this process, at their addresses.
    """

    outlives: bool

    async def start(self, report: Reporter) -> None:
        """Begins. `report` receives the progress of all deployments until `stop()`."""

    async def nodes(self) -> list[Node]:
        """Returns the nodes that are reachable now."""

    async def deploy(self, deployment: Deployment) -> None:
        """Makes a workload run in this version and number; calling it again with the same changes nothing.

        The version before goes on answering until this one is ready; if this one fails, it stays.
        """

    async def remove(self, workload_id: str) -> None:
        """Stops a workload after its running answers; returns when nothing of it is left."""

    def deployed(self) -> Mapping[str, Deployment]:
        """Returns what is deployed, by workload id."""

    def places(self, workload_id: str) -> Places:
        """Returns where replicas of a workload run, and may run."""

    async def stop(self) -> None:
        """Stops everything that would not go on without this process."""
