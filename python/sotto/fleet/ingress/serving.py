"""Runs an ingress until SIGINT or SIGTERM, and reloads it when its routes change."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from .configuration import Route
from .haproxy import HaProxy, IngressError

_log = logging.getLogger("sotto.fleet")


async def serve(
    ingress: HaProxy,
    routes: AsyncGenerator[list[Route], None],
    *,
    drain: float,
    ready: Callable[[], None],
) -> None:
    """Serves until SIGINT or SIGTERM; then gives running requests `drain` seconds.

    Args:
        ingress: The ingress.
        routes: Yields the routes, and others whenever they change. Those that HAProxy refuses are logged.
        drain: Seconds.
        ready: Is called once the ingress listens.

    Raises:
        IngressError: HAProxy cannot be started.
        ValueError: the first routes are invalid.
    """
    leaving = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leaving.set)
    async with aclosing(routes):
        await ingress.start(await anext(routes))
        ready()
        following = asyncio.ensure_future(_follow(ingress, routes))
        waiting = asyncio.ensure_future(leaving.wait())
        try:
            await asyncio.wait((following, waiting), return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()
        finally:
            for task in (following, waiting):
                task.cancel()
            await asyncio.gather(following, waiting, return_exceptions=True)
            await ingress.stop(drain)


async def _follow(ingress: HaProxy, routes: AsyncGenerator[list[Route], None]) -> None:
    async for found in routes:
        try:
            await ingress.reload(found)
            _log.info("ingress: %s replicas", ", ".join(str(len(one.replicas)) for one in found))
        except (IngressError, ValueError) as error:
            _log.error("ingress: %s; the routes before stay", error)
