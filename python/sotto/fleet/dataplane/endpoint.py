"""`Endpoint`: the address at which clients ask a replica, and its place in the store."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import uvicorn
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp

from ...server.listening import configuration, open_port
from ..control.admission import Admission
from ..control.changes import Changes, watched
from ..control.load import LoadLog
from ..control.meter import Meter
from ..control.placement import Deployment
from ..control.quotas import Quotas
from ..control.replicas import BEAT, Place, Replicas
from ..control.settings import ControlSettings
from ..control.store import Store, why
from ..control.tokens import Tokens
from ..control.usage import UsageLog
from ..control.workloads import Route
from .application import Admitting
from .names import Name

log = logging.getLogger("sotto.fleet")
_QUIET = 1.0  # seconds without a request after which ingresses send none: they have read that it leaves
_LOOK = 0.05  # seconds between two looks whether all answers have ended


class Endpoint:
    """Serves a replica at its own address, for ingresses.

    Args:
        app: Answers requests that are admitted.
        deployment: The workload.
        settings: Limits of bodies, times and quotas.
    """

    def __init__(self, app: ASGIApp, deployment: Deployment, settings: ControlSettings | None = None) -> None:
        self._app, self._deployment = app, deployment
        self._settings = settings or ControlSettings()
        self._left: contextlib.AsyncExitStack | None = None  # what ends with the endpoint
        self._admitting: Admitting
        self._replicas: Replicas
        self.place: Place

    async def start(self, database: str, node: str, address: str) -> None:
        """Listens at a free port of an address; then adds the replica to the store.

        Args:
            database: The store, as for `Store.open()`.
            node: Name of the node, from which the name of the replica follows.
            address: IP address of the node.

        Raises:
            ArgumentError: The store cannot be opened, or the address is not one of this machine.
        """
        async with contextlib.AsyncExitStack() as left:
            store, changes = await left.enter_async_context(watched(database, 2))
            self._admitting = await self._application(store, changes, left)
            self._replicas = Replicas(store, changes)
            self.place = self._listen(node, address, left)
            await self._replicas.add(self.place)
            left.push_async_callback(_cancelled, asyncio.ensure_future(self._beat()))
            self._left = left.pop_all()
        log.info("replica '%s' listens at %s port %d", *self.place[2:])

    async def stop(self, drain: float) -> None:
        """Removes the replica from the store, answers what still comes, and ends. A second call does nothing.

        Args:
            drain: Seconds in which running answers may end.
        """
        left, self._left = self._left, None
        if left is None:
            return
        with contextlib.suppress(SQLAlchemyError, OSError):
            await self._replicas.remove(self.place)
        clock = asyncio.get_running_loop().time
        end, quiet = clock() + drain, clock() + _QUIET
        while clock() < min(end, quiet):
            await asyncio.sleep(_LOOK)
            if self._admitting.running:
                quiet = clock() + _QUIET
        await left.aclose()

    async def _application(
        self, store: Store, changes: Changes, left: contextlib.AsyncExitStack
    ) -> Admitting:
        """Returns what checks keys and quotas; counts are written until `left` ends."""
        one, settings = self._deployment, self._settings
        usage = UsageLog(store)
        left.push_async_callback(usage.stop)
        await usage.start()
        quotas = Quotas(store, changes, settings.quota_lease)
        meter = Meter()
        load = LoadLog(store, meter)
        left.push_async_callback(load.stop)
        await load.start()
        admission = Admission(Tokens(store, changes), quotas, usage, meter, settings.default_max_tokens)
        route = Route(one.workload_id, one.task_type, one.backend, one.model, "ready", "", None)
        return Admitting(self._app, admission, one.project, one.slug, route, settings)

    def _listen(self, node: str, address: str, left: contextlib.AsyncExitStack) -> Place:
        """Begins to serve; ends it with `left`."""
        one = self._deployment
        name = Name(node, f"{one.workload_id}-{one.generation}")
        left.callback(name.release)
        listening = left.enter_context(open_port(address, 0))
        server = _Server(configuration(self._admitting, self._settings.write_timeout, None))
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))

        async def end() -> None:
            server.should_exit = True
            await serving

        left.push_async_callback(end)
        port: int = listening.getsockname()[1]
        return Place(one.workload_id, one.generation, name.text, address, port)

    async def _beat(self) -> None:
        """Renews the place in the store every minute."""
        while True:
            await asyncio.sleep(BEAT)
            try:
                await asyncio.shield(self._replicas.add(self.place))  # a transaction is never cancelled
            except (SQLAlchemyError, OSError) as error:
                log.warning("the store cannot be reached: %s", why(error))


async def _cancelled(task: asyncio.Future[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


class _Server(uvicorn.Server):
    """A server that leaves signals alone: the process belongs to others."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[Any]:
        """Does nothing."""
        yield
