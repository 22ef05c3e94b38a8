"""Arguments of the subcommands of `sotto fleet` that use a Ray cluster, and what they make."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ..._places import data_folder
from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from .opening import database, needs_extra

if TYPE_CHECKING:
    from ...fleet.cluster.nodes import NodeOptions
    from ...fleet.cluster.placement import RayPlacement

PORT = 6379  # of the head


def add_head(parser: argparse.ArgumentParser, name: str = "--head") -> None:
    """Adds the address of the cluster's head, and the file of its token."""
    parser.add_argument(
        name, default=f"127.0.0.1:{PORT}", metavar="HOST:PORT", help="head of the cluster (%(default)s)"
    )
    add_token(parser)


def add_token(parser: argparse.ArgumentParser) -> None:
    """Adds the argument `--token-file`."""
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE",
        help="token of the cluster; each machine has a copy (fleet.token among this user's data)",
    )  # fmt: skip


def token_file(arguments: argparse.Namespace) -> Path:
    """Returns the file of the cluster's token."""
    return arguments.token_file or Path(data_folder()) / "fleet.token"


def add_replicas(parser: argparse.ArgumentParser) -> None:
    """Adds the argument `--replica-cores`."""
    parser.add_argument(
        "--replica-cores", type=types.count(1, 4096), default=1, metavar="N",
        help="cores of each replica, unless its workload sets config.threads (%(default)s)",
    )  # fmt: skip


def add_node(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that describe this machine as a node."""
    parser.add_argument("--name", required=True, help="name of this node in the fleet")
    parser.add_argument(
        "--address", required=True, metavar="IP", help="address of this machine in the private network"
    )
    parser.add_argument(
        "--cores", type=types.count(1, 4096), metavar="N", help="cores for replicas (all of this machine)"
    )
    parser.add_argument(
        "--node-memory", type=types.count(1, types.MOST_MB), metavar="MB",
        help="memory for replicas (70 %% of what is free)",
    )  # fmt: skip
    parser.add_argument(
        "--gpu",
        metavar="ID=MB",
        help="id of this machine's GPU in the fleet, and its memory (no GPU is used)",
    )


def add_ingress(parser: argparse.ArgumentParser) -> None:
    """Adds the argument `--ingress`."""
    parser.add_argument(
        "--ingress", type=types.count(1, 65535), metavar="PORT",
        help="serve clients at this port of --address, straight from the replicas; needs HAProxy, and a "
        "--database of PostgreSQL (no ingress)",
    )  # fmt: skip


def shared_database(arguments: argparse.Namespace) -> str | None:
    """Returns the address of the store if all nodes can reach it; None: it is a file.

    Raises `ArgumentError` if it is a file and there is to be an ingress.
    """
    found = database(arguments)
    if found.startswith("postgresql"):
        return found
    if arguments.ingress is not None:
        kind, separator, _ = found.partition("://")  # the rest of an address may hold a password
        raise ArgumentError(
            f"invalid --ingress {arguments.ingress}: expected a --database of PostgreSQL, which replicas on "
            f"all nodes can reach, not '{kind}{separator}'"
        )
    return None


@contextlib.contextmanager
def ingress(arguments: argparse.Namespace, database: str | None) -> Iterator[None]:
    """Runs the ingress that the arguments ask for. Raises `ArgumentError` if it cannot listen."""
    if arguments.ingress is None or database is None:
        yield
        return
    from ...fleet.ingress.process import IngressProcess

    with IngressProcess(database, arguments.address, arguments.ingress, arguments.drain):
        where = f"[{arguments.address}]" if ":" in arguments.address else arguments.address
        screen.say(f"sotto fleet: the ingress serves at http://{where}:{arguments.ingress}", flush=True)
        yield


def node_options(arguments: argparse.Namespace) -> NodeOptions:
    """Returns the node that the arguments describe. Raises `ArgumentError` if one is invalid."""
    try:
        from ...fleet.cluster import settings
        from ...fleet.cluster.nodes import Gpu, NodeOptions
    except ModuleNotFoundError as error:
        raise needs_extra(error) from None
    settings.check_installed()
    gpu = None
    if arguments.gpu is not None:
        id, _, size = arguments.gpu.partition("=")
        if not size.isdecimal() or not 0 < int(size) <= types.MOST_MB:
            raise ArgumentError(f"invalid --gpu '{arguments.gpu}': expected ID=MB, as gpu0=24576")
        gpu = Gpu(settings.check_name(id), int(size))
    return NodeOptions(
        name=settings.check_name(arguments.name),
        host=settings.check_private(arguments.address),
        cores=arguments.cores,
        memory_mb=arguments.node_memory,
        gpu=gpu,
    )


def interrupt_on_sigterm() -> None:
    """Makes SIGTERM raise `KeyboardInterrupt`, so that what was started is ended."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


@contextlib.contextmanager
def placement(arguments: argparse.Namespace, head: str) -> Iterator[RayPlacement]:
    """Yields the placement on a cluster; disconnects at the end. Raises `ArgumentError` if Ray is missing."""
    try:
        from ...fleet.cluster import settings
    except ModuleNotFoundError as error:
        raise needs_extra(error) from None
    os.environ.update(settings.variables(token_file(arguments)))  # Ray reads them when it is imported
    settings.check_installed()
    from ...fleet.cluster.cluster import Cluster
    from ...fleet.cluster.placement import RayPlacement

    made = Cluster(head, token_file(arguments), arguments.drain)
    try:
        yield RayPlacement(made, cores=float(arguments.replica_cores))
    finally:
        made.disconnect()
