"""`sotto fleet join`: adds this machine to a fleet, until it is stopped."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path

from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from . import cluster
from .opening import add_database

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
    from ...fleet.cluster.nodes import NodeProcess, names

    shared = cluster.shared_database(arguments)
    token = cluster.token_file(arguments)
    if options.name in names(arguments.head, token):
        raise ArgumentError(
            f"invalid --name '{options.name}': a node of this name is in the fleet; choose another"
        )
    cluster.interrupt_on_sigterm()
    with (
        tempfile.TemporaryDirectory(prefix="sotto-ray-") as folder,
        NodeProcess(
            options, token, Path(folder), head=arguments.head, drain=arguments.drain, database=shared
        ) as node,
        cluster.ingress(arguments, shared),
    ):
        screen.say(f"sotto fleet: node '{options.name}' joined {arguments.head}", flush=True)
        try:
            while not node.ended(_EVERY):
                with contextlib.suppress(ArgumentError):  # a head that is lost may come back
                    if options.name not in names(arguments.head, token):
                        screen.say(f"sotto fleet: node '{options.name}' was drained", flush=True)
                        return 0
        except KeyboardInterrupt:
            return 0
    raise ArgumentError(f"node '{options.name}' ended: the head at {arguments.head} is lost")
