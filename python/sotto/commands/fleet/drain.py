"""`sotto fleet drain`: moves the replicas of a node to others, then ends the node."""

from __future__ import annotations

import argparse

from .. import arguments as types
from .. import screen
from . import cluster


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet drain` to `parser`."""
    parser.add_argument("node", help="its name")
    parser.add_argument(
        "--seconds", type=types.seconds, default=300.0, metavar="S",
        help="time until the node ends, for replicas to start elsewhere (%(default)g)",
    )  # fmt: skip
    cluster.add_head(parser)


def run(arguments: argparse.Namespace) -> int:
    """Begins to drain a node. Returns the exit status."""
    from ...fleet.cluster import nodes

    nodes.drain(arguments.head, cluster.token_file(arguments), arguments.node, arguments.seconds)
    screen.say(f"node '{arguments.node}' ends in {arguments.seconds:g} s; its replicas move to other nodes")
    return 0
