"""`sotto fleet join`: adds this machine to a fleet, until it is stopped."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from . import cluster
from .opening import add_database

if TYPE_CHECKING:
    from ...fleet.cluster.nodes import Members, NodeProcess

_EVERY = 5.0  # seconds between two looks whether the node is still in the fleet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet join` to `parser`."""
    parser.add_argument("head", metavar="HOST:PORT", help="head of the cluster, as `sotto fleet up` says it")
    cluster.add_node(parser)
    cluster.add_ingress(parser)
    add_database(parser)
    cluster.add_token(parser)
    parser.add_argument(
        "--drain", type=types.seconds, default=30.0, metavar="S",
        help="after SIGTERM, time for replicas to start on other nodes and for running answers (%(default)g)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Runs until SIGINT or SIGTERM, or until the node is drained. Returns the exit status."""
    options = cluster.node_options(arguments)
    from ...fleet.cluster.nodes import NodeProcess, members

    shared = cluster.shared_database(arguments)
    token = cluster.token_file(arguments)
    joined = members(arguments.head, token)
    if options.name in joined.nodes:
        raise ArgumentError(
            f"invalid --name '{options.name}': a node of this name is in the fleet; choose another"
        )
    cluster.interrupt_on_sigterm()
    with (
        tempfile.TemporaryDirectory(prefix="sotto-ray-") as folder,
        NodeProcess(
            options,
            token,
            Path(folder),
            head=arguments.head,
            drain=arguments.drain,
            database=shared,
            wait=joined.head_wait,
        ) as node,
        cluster.ingress(arguments, shared),
    ):
        screen.say(f"sotto fleet: node '{options.name}' joined {arguments.head}", flush=True)
        try:
            return _stay(arguments.head, token, options.name, joined, node)
        except KeyboardInterrupt:
            return 0


def _stay(head: str, token: Path, name: str, joined: Members, node: NodeProcess) -> int:
    """Returns 0 once the node was drained.

    Raises:
        ArgumentError: The node ended without its head, or the head came back without its state.
    """
    from ...fleet.cluster.nodes import members

    lost = False
    while not node.ended(_EVERY):
        try:
            found = members(head, token)
        except ArgumentError:  # a head that is lost may come back
            if not lost:
                wait = f"waits {joined.head_wait:,} s for it" if joined.head_wait else "ends soon"
                screen.say(f"sotto fleet: the head at {head} is lost; node '{name}' {wait}", flush=True)
            lost = True
            continue
        if found.cluster != joined.cluster:
            raise ArgumentError(f"node '{name}' ends: the head at {head} came back without its state")
        if name not in found.nodes:
            screen.say(f"sotto fleet: node '{name}' was drained", flush=True)
            return 0
        if lost:
            screen.say(f"sotto fleet: the head at {head} is back", flush=True)
        lost = False
    raise ArgumentError(f"node '{name}' ended: the head at {head} is lost")
