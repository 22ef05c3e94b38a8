"""`sotto fleet top`: nodes of a cluster, and replicas of its workloads."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .. import screen
from . import cluster

if TYPE_CHECKING:
    from ...fleet.cluster.cluster import Application
    from ...fleet.cluster.needs import RayNode

_MB = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet top` to `parser`."""
    cluster.add_head(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints nodes and replicas. Returns the exit status."""
    from ...fleet.cluster.cluster import Cluster

    asked = Cluster(arguments.head, cluster.token_file(arguments), drain=0)
    asked.connect()
    nodes = asked.nodes()
    for line in [*_nodes(nodes), "", *_applications(asked.applications(), nodes)]:
        screen.say(line)
    return 0


def _nodes(nodes: list[RayNode]) -> list[str]:
    form = "{:<20} {:<16} {:>11} {:>19}  {:<16} {}"
    lines = [form.format("node", "address", "cores", "memory MB", "gpu", "version")]
    for node in nodes:
        cores = f"{node.cores - node.free_cores:g} of {node.cores:g}"
        memory = f"{(node.memory - node.free_memory) // _MB:,} of {node.memory // _MB:,}"
        gpu = f"{node.gpu} {1 - node.free_gpu:.0%}" if node.gpu else "none"
        lines.append(form.format(node.name, node.host, cores, memory, gpu, node.version))
    return lines


def _applications(applications: dict[str, Application], nodes: list[RayNode]) -> list[str]:
    form = "{:<46} {:<14} {:>8}  {}"
    lines = [form.format("workload-version", "state", "replicas", "on")]
    names = {node.ray_id: node.name for node in nodes}
    for name, one in sorted(applications.items()):
        where = ", ".join(f"{names.get(id, '?')}:{pid}" for id, pid in sorted(one.running))
        lines.append(form.format(name, one.status, f"{len(one.running)}/{one.wanted}", where))
    return lines
