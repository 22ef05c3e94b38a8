"""`sotto fleet ingress`: HAProxy with the configuration for replicas, reloaded when they come or go."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from .opening import add_database, database, needs_extra

if TYPE_CHECKING:
    from ...fleet.ingress import Route

_FOLDER = Path("/run/sotto-ingress")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet ingress` to `parser`."""
    parser.add_argument(
        "routes", type=Path, nargs="?", metavar="FILE",
        help="workloads and their replicas, in JSON (those of the store)",
    )  # fmt: skip
    add_database(parser)
    parser.add_argument("--host", default="127.0.0.1", help="the IP address to listen at (%(default)s)")
    parser.add_argument(
        "--port", type=types.count(1, 65535), default=8080, metavar="N", help="the port (%(default)s)"
    )
    parser.add_argument(
        "--tls-cert", type=Path, metavar="FILE", help="a certificate chain and its key, in PEM"
    )
    parser.add_argument(
        "--folder", type=Path, default=_FOLDER, help="for HAProxy's configuration and sockets (%(default)s)"
    )
    parser.add_argument(
        "--threads", type=types.count(1, 64), default=1, metavar="N", help="of HAProxy (%(default)s)"
    )
    parser.add_argument(
        "--load-factor", type=types.count(0, 65535), default=0, metavar="PERCENT",
        help="of the mean load, above which sessions leave a replica; 0: they never do (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--drain", type=types.seconds, default=10.0, metavar="S",
        help="how long running answers may go on when the ingress stops (%(default)g)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Serves until SIGINT or SIGTERM. Returns the exit status."""
    from ...fleet.ingress import HaProxy, IngressError, IngressSettings
    from ...fleet.ingress.serving import serve
    from ...fleet.ingress.table import follow_file
    from ...server.logs import prepare
    from ...server.serving import run as run_loop

    if arguments.routes is not None and arguments.database is not None:
        raise ArgumentError(f"FILE '{arguments.routes}' and --database: expected one of them")
    if sys.platform == "win32":
        raise ArgumentError("sotto fleet ingress runs on Linux: it needs HAProxy")
    prepare("text")
    scheme = "http" if arguments.tls_cert is None else "https"
    where = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    try:
        settings = IngressSettings(
            address=arguments.host,
            port=arguments.port,
            certificate=arguments.tls_cert,
            threads=arguments.threads,
            load_factor=arguments.load_factor,
        )
        run_loop(
            serve(
                HaProxy(arguments.folder, settings),
                _of_store(arguments) if arguments.routes is None else follow_file(arguments.routes),
                drain=arguments.drain,
                ready=lambda: screen.say(
                    f"sotto fleet ingress: ready at {scheme}://{where}:{arguments.port}", flush=True
                ),
            )
        )
    except (IngressError, OSError, ValueError) as error:
        raise ArgumentError(str(error)) from None
    return 0


def _of_store(arguments: argparse.Namespace) -> AsyncGenerator[list[Route], None]:
    """Yields the routes of a store. Raises `ArgumentError` if a package is missing."""
    try:
        from ...fleet.ingress.following import follow_store
    except ModuleNotFoundError as error:
        raise needs_extra(error) from None
    return follow_store(database(arguments))
