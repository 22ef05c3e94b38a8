"""Follows the store of a control plane: which replicas an ingress sends requests to."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator

from sqlalchemy.exc import SQLAlchemyError

from ..control.changes import watched
from ..control.replicas import Place, Replicas
from ..control.store import why
from .configuration import Replica, Route

log = logging.getLogger("sotto.fleet")
_EVERY = 5.0  # seconds between two looks at the store, if it says nothing


async def follow_store(database: str) -> AsyncGenerator[list[Route], None]:
    """Yields the workloads and their replicas, at once and whenever they change.

    While the store is down, nothing changes.

    Raises:
        ArgumentError: The store cannot be opened.
    """
    async with watched(database, 1) as (store, changes):
        waiter = changes.waiter()
        replicas = Replicas(store, changes)
        before: list[Route] | None = None
        while True:
            waiter.clear()
            try:
                now = [_route(*names, places) for names, places in (await replicas.serving()).items()]
            except (SQLAlchemyError, OSError) as error:
                log.warning("the store cannot be reached, the routes stay: %s", why(error))
            else:
                if now != before:
                    yield now
                    before = now
            await changes.wait(_EVERY, waiter)


def _route(project: str, workload: str, places: list[Place]) -> Route:
    found = tuple(Replica(one.name, one.address, one.port) for one in places)
    return Route(f"/endpoint/{project}/{workload}", found)
