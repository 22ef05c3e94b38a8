"""What a replica takes of a node, and whether nodes have room for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..control.launch import EXCLUDED, CannotLaunch
from ..control.placement import Deployment

_MB = 1 << 20


class RayNode(NamedTuple):
    """A node of the cluster.

    Attributes:
        ray_id: Ray's id of the node.
        name: Name that `sotto fleet up` or `join` gave it.
        version: Version of Sotto, as a label.
        host: Its address.
        cores: Cores for replicas.
        memory: Bytes for replicas.
        free_cores: Cores that no replica has reserved.
        free_memory: Bytes that no replica has reserved.
        gpu: Id of its GPU; None: no GPU.
        gpu_mb: Memory of its GPU in MB.
        free_gpu: Part of its GPU that no replica has reserved.
    """

    ray_id: str
    name: str
    version: str
    host: str
    cores: float
    memory: int
    free_cores: float
    free_memory: int
    gpu: str | None = None
    gpu_mb: int = 0
    free_gpu: float = 0.0


class Planned(NamedTuple):
    """The plan of a node that can run a model.

    Attributes:
        memory_mb: Memory of a replica in MB.
        file: Fingerprint of the model's file on the node; "" for models of the library itself.
    """

    memory_mb: int
    file: str = ""


class Needs(NamedTuple):
    """What each replica of a workload takes.

    Attributes:
        nodes: Names of the nodes that can run it.
        cores: Cores.
        memory_mb: Memory of the engine in MB; on a GPU, of the GPU.
        gpu: Part of a GPU; 0: none.
    """

    nodes: tuple[str, ...]
    cores: float
    memory_mb: int
    gpu: float = 0.0

    def text(self) -> str:
        """Returns the needs of one replica as words."""
        cores = f"{self.cores:g} core{'s' if self.cores != 1 else ''}"
        return f"{cores} and {self.memory_mb:,} MB{' of a GPU' if self.gpu else ''}"

    def room(self, nodes: Iterable[RayNode], *, free: bool) -> int:
        """Returns how many replicas the nodes hold: now (`free`), or if nothing else ran."""
        count = 0
        for node in nodes:
            if node.name not in self.nodes:
                continue
            limits = [(node.free_cores if free else node.cores) / self.cores]
            if self.gpu:
                limits.append((node.free_gpu if free else 1.0) / self.gpu)
            else:
                limits.append((node.free_memory if free else node.memory) / (self.memory_mb * _MB))
            count += max(0, int(min(limits) + 1e-6))
        return count

    def actor_options(self, version: str) -> dict[str, object]:
        """Returns the options of a replica's actor: resources, and labels of the nodes that can run it."""
        from .settings import NODE, VERSION

        options: dict[str, object] = {
            "num_cpus": self.cores,
            "label_selector": {NODE: f"in({','.join(sorted(self.nodes))})", VERSION: version},
        }
        if self.gpu:
            options["num_gpus"] = self.gpu
        else:
            options["memory"] = self.memory_mb * _MB
        return options


def selected(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the names of the nodes that an actor with these options may run on."""
    from .settings import NODE

    names: str = options["label_selector"][NODE].removeprefix("in(").removesuffix(")")
    return tuple(names.split(","))


def room(options: Mapping[str, Any], node: RayNode, running: int) -> int:
    """Returns how many actors with these options a node holds, with those of them that run there."""
    limits = [node.free_cores / options["num_cpus"]]
    if options.get("num_gpus"):
        limits.append(node.free_gpu / options["num_gpus"])
    if options.get("memory"):
        limits.append(node.free_memory / options["memory"])
    return running + max(0, int(min(limits) + 1e-6))


def candidates(deployment: Deployment, nodes: list[RayNode], version: str) -> list[RayNode]:
    """Returns the nodes that a workload may run on, by its pins and their versions.

    Raises:
        CannotLaunch: No node is one; the message says why.
    """
    if not nodes:
        raise CannotLaunch("no node has joined the fleet; `sotto fleet join` adds one")
    found = _with_own_names(nodes, deployment.worker_id)
    if deployment.nodes is not None:
        found = [node for node in found if node.name in deployment.nodes]
        if not found:
            raise CannotLaunch(EXCLUDED)
    if deployment.worker_id is not None:
        found = [node for node in found if node.name == deployment.worker_id]
        if not found:
            names = ", ".join(sorted({node.name for node in nodes}))
            raise CannotLaunch(f"no node '{deployment.worker_id}'; the nodes are: {names}")
    if deployment.gpu_resource_id is not None:
        found = [node for node in found if node.gpu == deployment.gpu_resource_id]
        if not found:
            where = "no node" if deployment.worker_id is None else f"node '{deployment.worker_id}' does not"
            verb = "has" if deployment.worker_id is None else "have"
            raise CannotLaunch(f"{where} {verb} the GPU '{deployment.gpu_resource_id}'")
    same = [node for node in found if node.version == version]
    if not same:
        others = ", ".join(f"{node.name}: {node.version or 'unknown'}" for node in found)
        raise CannotLaunch(f"no node has Sotto {version}, as the control plane has; the nodes have {others}")
    return same


def fit(
    deployment: Deployment,
    nodes: list[RayNode],
    plans: Mapping[str, Planned | str],
    cores: float,
    replicas: int,
) -> Needs:
    """Returns what a replica takes, from the plans of the nodes.

    Args:
        deployment: The workload.
        nodes: The nodes that were asked.
        plans: For each node, its plan, or why it cannot run the model.
        cores: Cores of a replica.
        replicas: Replicas that are to run.

    Raises:
        CannotLaunch: No node can run it, and the words are those of the plans; or nodes have different files
            under the name of the model.
    """
    fitting = [node for node in nodes if isinstance(plans[node.name], Planned)]
    if not fitting:
        reasons = {str(plans[node.name]): node.name for node in reversed(nodes)}
        if len(reasons) == 1:
            raise CannotLaunch(next(iter(reasons)))
        raise CannotLaunch("; ".join(f"node '{name}': {why}" for why, name in reversed(reasons.items())))
    fits = {name: plan for name, plan in plans.items() if isinstance(plan, Planned)}
    _check_same_file(deployment.model, fits)
    planned = max(1, *(plan.memory_mb for plan in fits.values()))
    part = 0.0
    if deployment.gpu_resource_id is not None:
        part = min(1.0, max(0.01, round(planned / max(node.gpu_mb for node in fitting), 3)))
    needs = Needs(tuple(sorted(node.name for node in fitting)), cores, planned, part)
    total = needs.room(fitting, free=False)
    if total < replicas:
        wanted = "1 replica" if replicas == 1 else f"{replicas:,} replicas"
        sizes = ", ".join(
            f"{node.name} ({node.cores:g} cores, {(node.gpu_mb if part else node.memory // _MB):,} MB)"
            for node in fitting
        )
        raise CannotLaunch(
            f"{wanted} of {needs.text()} fit nowhere: the nodes have room for {total}: {sizes}"
        )
    return needs


def _with_own_names(nodes: list[RayNode], wanted: str | None) -> list[RayNode]:
    """Returns the nodes whose name no other node has: of two that joined at once, neither can be addressed.

    Raises:
        CannotLaunch: No node is left, or several have the wanted name.
    """
    counts = Counter(node.name for node in nodes)
    found = [node for node in nodes if counts[node.name] == 1]
    if not found or counts.get(wanted or "", 0) > 1:
        name = nodes[0].name if wanted is None else wanted
        hosts = ", ".join(sorted(node.host for node in nodes if node.name == name))
        raise CannotLaunch(
            f"several nodes have the name '{name}' ({hosts}); end all but one, and join them with other names"
        )
    return found


def _check_same_file(model: str, plans: Mapping[str, Planned]) -> None:
    """Raises `CannotLaunch` if nodes have different files under the name of a model."""
    having: dict[str, list[str]] = {}
    for name, plan in sorted(plans.items()):
        having.setdefault(plan.file, []).append(name)
    if len(having) > 1:
        files = "; ".join(f"{', '.join(names)}: {file or 'built in'}" for file, names in having.items())
        raise CannotLaunch(
            f"the nodes have different files under the name '{model}' ({files}); copy one file to all of "
            "them, or set worker_id"
        )
