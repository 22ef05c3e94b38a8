"""`sotto fleet join`: adds this machine to a fleet, until it is stopped."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from ...errors import ArgumentError
from .. import screen
from . import cluster


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet join` to `parser`."""
    parser.add_argument("head", metavar="HOST:PORT", help="head of the cluster, as `sotto fleet up` says it")
    cluster.add_node(parser)
    cluster.add_token(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs until SIGINT or SIGTERM, or until the node is drained. Returns the exit status."""
    options = cluster.node_options(arguments)
    from ...fleet.cluster.nodes import NodeProcess, names

    token = cluster.token_file(arguments)
    if options.name in names(arguments.head, token):
        raise ArgumentError(
            f"invalid --name '{options.name}': a node of this name is in the fleet; choose another"
        )
    cluster.interrupt_on_sigterm()
    with (
        tempfile.TemporaryDirectory(prefix="sotto-ray-") as folder,
        NodeProcess(options, token, Path(folder), head=arguments.head) as node,
    ):
        screen.say(f"sotto fleet: node '{options.name}' joined {arguments.head}", flush=True)
        try:
            return node.wait()
        except KeyboardInterrupt:
            return 0
