"""`sotto fleet up`: the head of a Ray cluster on this machine, with the control plane."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from . import cluster, serve

if TYPE_CHECKING:
    from ...fleet.cluster.redis import Redis


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
    parser.add_argument(
        "--redis", metavar="HOST:PORT",
        help="Redis that keeps the state of the head: nodes and their replicas outlive a head that is lost "
        "(none: the fleet ends with its head)",
    )  # fmt: skip
    parser.add_argument(
        "--redis-password-file", type=Path, metavar="FILE",
        help="password of Redis (the variable SOTTO_FLEET_REDIS_PASSWORD, else none)",
    )  # fmt: skip
    parser.add_argument(
        "--head-wait", type=types.count(10, 604800), default=600, metavar="S",
        help="with --redis: time for which nodes wait for a head that is lost (%(default)s)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Runs until SIGINT or SIGTERM. Returns the exit status."""
    options = cluster.node_options(arguments)
    from ...fleet.cluster import settings
    from ...fleet.cluster.nodes import NodeProcess
    from ...fleet.cluster.redis import claim

    shared = cluster.shared_database(arguments)
    token = cluster.token_file(arguments)
    settings.make_token(token)
    redis = _redis(arguments)
    cluster.interrupt_on_sigterm()  # until the control plane handles it
    head = f"{options.host}:{arguments.head_port}"
    settings.check_free(head)
    if redis is not None:
        claim(redis, head, token)
    with (
        tempfile.TemporaryDirectory(prefix="sotto-ray-", ignore_cleanup_errors=True) as folder,
        NodeProcess(
            options, token, Path(folder), port=arguments.head_port, database=shared, redis=redis
        ) as node,
    ):
        screen.say(
            f"sotto fleet: the head runs at {head}; other machines join with a copy of {token}: "
            f"sotto fleet join {head} --name NAME --address IP",
            flush=True,
        )
        with (
            node.needed(),
            cluster.placement(arguments, head) as made,
            cluster.ingress(arguments, shared),
        ):
            serve.run_plane(arguments, made)
    return 0


def _redis(arguments: argparse.Namespace) -> Redis | None:
    """Returns where the head keeps its state. Raises `ArgumentError` if the password cannot be read."""
    from ...fleet.cluster.redis import Redis, password

    if arguments.redis is None:
        if arguments.redis_password_file is not None:
            raise ArgumentError("--redis-password-file needs --redis, which says where Redis is")
        return None
    return Redis(arguments.redis, password(arguments.redis_password_file), arguments.head_wait)
