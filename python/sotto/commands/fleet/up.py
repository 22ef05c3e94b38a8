"""`sotto fleet up`: the head of a Ray cluster on this machine, with the control plane."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from .. import arguments as types
from .. import screen
from . import cluster, serve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet up` to `parser`."""
    serve.add_plane(parser)
    cluster.add_node(parser)
    cluster.add_ingress(parser)
    cluster.add_replicas(parser)
    cluster.add_token(parser)
    parser.add_argument(
        "--head-port", type=types.count(1, 65535), default=cluster.PORT, metavar="N",
        help="port of the head for other machines (%(default)s)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Runs until SIGINT or SIGTERM. Returns the exit status."""
    options = cluster.node_options(arguments)
    from ...fleet.cluster import settings
    from ...fleet.cluster.nodes import NodeProcess

    shared = cluster.shared_database(arguments)
    token = cluster.token_file(arguments)
    settings.make_token(token)
    cluster.interrupt_on_sigterm()  # until the control plane handles it
    head = f"{options.host}:{arguments.head_port}"
    with (
        tempfile.TemporaryDirectory(prefix="sotto-ray-", ignore_cleanup_errors=True) as folder,
        NodeProcess(options, token, Path(folder), port=arguments.head_port, database=shared),
    ):
        screen.say(
            f"sotto fleet: the head runs at {head}; other machines join with a copy of {token}: "
            f"sotto fleet join {head} --name NAME --address IP",
            flush=True,
        )
        with cluster.placement(arguments, head) as made, cluster.ingress(arguments, shared):
            serve.run_plane(arguments, made)
    return 0
