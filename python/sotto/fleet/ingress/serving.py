"""Runs an ingress until SIGINT or SIGTERM, and reloads it when its file of routes changes."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from pathlib import Path

from .haproxy import HaProxy, IngressError
from .table import read_routes

_LOOK = 0.25  # seconds between two looks at the file
_log = logging.getLogger("sotto.fleet")


async def serve(ingress: HaProxy, table: Path, *, drain: float, ready: Callable[[], None]) -> None:
    """Serves until SIGINT or SIGTERM; then gives running requests `drain` seconds.

    A file that changes to something invalid is logged; the ingress goes on with the routes before.

    Args:
        ingress: The ingress.
        table: File of `read_routes()`; to be replaced by renaming, so that it is never read in part.
        drain: Seconds.
        ready: Is called once the ingress listens.

    Raises:
        IngressError: HAProxy cannot be started.
        OSError: the file cannot be read.
        ValueError: the file is invalid at the start.
    """
    leaving = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leaving.set)
    text, routes = table.read_bytes(), read_routes(table)
    await ingress.start(routes)
    ready()
    try:
        while not leaving.is_set():
            try:
                await asyncio.wait_for(leaving.wait(), _LOOK)
            except TimeoutError:
                text = await _follow(ingress, table, text)
    finally:
        await ingress.stop(drain)


async def _follow(ingress: HaProxy, table: Path, before: bytes) -> bytes:
    """Reloads the ingress if the file is another one. Returns its bytes."""
    try:
        now = table.read_bytes()
        if now == before:
            return before
        routes = read_routes(table)
        await ingress.reload(routes)
        _log.info("ingress: %s replicas", ", ".join(str(len(one.replicas)) for one in routes))
        return now
    except OSError as error:
        _log.error("ingress: cannot read %s: %s", table, error)
        return before
    except (IngressError, ValueError) as error:
        _log.error("ingress: %s; the routes before stay", error)
        return now
