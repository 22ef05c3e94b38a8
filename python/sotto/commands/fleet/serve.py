"""`sotto fleet serve`: the control plane and the gateway, with workloads on this machine or a Ray cluster."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from . import cluster
from .opening import add_database, database, needs_extra

if TYPE_CHECKING:
    from ...fleet.control.placement import Placement
    from ...fleet.prices import NodePrices

_LOCAL = ("127.0.0.1", "localhost", "::1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet serve` to `parser`."""
    add_plane(parser)
    parser.add_argument(
        "--memory", type=types.count(1, types.MOST_MB), metavar="MB",
        help="memory of all workloads together (what the machine has available)",
    )  # fmt: skip
    parser.add_argument(
        "--placement", choices=("local", "ray"), default="local",
        help="where workloads run: processes of this machine, or its Ray cluster (%(default)s)",
    )  # fmt: skip
    cluster.add_head(parser)
    cluster.add_replicas(parser)


def add_plane(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the control plane and the gateway to `parser`."""
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (%(default)s)")
    parser.add_argument(
        "--port", type=types.count(0, 65535), default=8090, metavar="N", help="0: any free one (%(default)s)"
    )
    add_database(parser)
    parser.add_argument(
        "--drain", type=types.seconds, default=10.0, metavar="S",
        help="how long running answers may go on when a workload or the server stops (%(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=types.seconds, default=600.0, metavar="S", help="longest answer (%(default)g)"
    )
    parser.add_argument(
        "--resume-timeout", type=types.wait, default=30.0, metavar="S",
        help="how long a chat whose process was lost waits for another; 0: it is an error (%(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--node-price", type=types.price, default=0.0, metavar="USD",
        help="price of a node in an hour (%(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--node-prices", type=Path, metavar="FILE",
        help='JSON of node names, or patterns of them, and USD per hour: {"gpu-*": 0.8}; other nodes cost '
        "--node-price",
    )  # fmt: skip
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="a certificate chain, in PEM")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="its private key, in PEM")
    parser.add_argument(
        "--log", choices=("text", "json"), default="text", help="form of the log (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serves until SIGINT or SIGTERM. Returns the exit status."""
    try:
        from ...fleet.control.local import LocalPlacement
    except ModuleNotFoundError as error:
        raise needs_extra(error) from None
    if arguments.placement == "ray":
        with cluster.placement(arguments, arguments.head) as made:
            run_plane(arguments, made)
        return 0
    with tempfile.TemporaryDirectory(prefix="sotto-fleet-") as folder:
        run_plane(arguments, LocalPlacement(Path(folder), memory_mb=arguments.memory, drain=arguments.drain))
    return 0


def run_plane(arguments: argparse.Namespace, placement: Placement) -> None:
    """Runs a control plane until SIGINT or SIGTERM."""
    try:
        from ...fleet.control.serving import serve
        from ...fleet.control.settings import ControlSettings
        from ...server.logs import prepare
        from ...server.serving import run as run_loop
    except ModuleNotFoundError as error:
        raise needs_extra(error) from None
    if sys.platform == "win32":
        raise ArgumentError("sotto fleet serve runs on Linux: it needs unix sockets and process groups")
    if (arguments.tls_cert is None) != (arguments.tls_key is None):
        raise ArgumentError("--tls-cert and --tls-key go together: one of them is missing")
    prepare(arguments.log)
    if arguments.host not in _LOCAL and arguments.tls_cert is None:
        logging.getLogger("sotto.fleet").warning(
            "tokens travel unencrypted to %s; --tls-cert and --tls-key encrypt them", arguments.host
        )
    certificate = None if arguments.tls_cert is None else (arguments.tls_cert, arguments.tls_key)
    run_loop(
        serve(
            arguments.host,
            arguments.port,
            database(arguments),
            placement,
            ControlSettings(
                timeout=arguments.timeout,
                resume_timeout=arguments.resume_timeout,
                prices=_prices(arguments),
            ),
            certificate=certificate,
            drain=arguments.drain,
            ready=lambda where: screen.say(f"sotto fleet: ready at {where}", flush=True),
        )
    )


def _prices(arguments: argparse.Namespace) -> NodePrices:
    """Returns the prices of the nodes. Raises `ArgumentError` if their file cannot be read."""
    from ...fleet.prices import NodePrices

    if arguments.node_prices is None:
        return NodePrices(arguments.node_price)
    try:
        return NodePrices.load(arguments.node_prices, arguments.node_price)
    except OSError as error:
        raise ArgumentError(
            f"cannot read --node-prices '{arguments.node_prices}': {error.strerror or error}"
        ) from None
    except ValueError as error:
        raise ArgumentError(f"invalid --node-prices: {error}") from None
