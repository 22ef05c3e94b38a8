"""Notices of changes: in this process at once, in others within a second.

On PostgreSQL, notices travel with LISTEN and NOTIFY, and are sent when the transaction commits. On SQLite,
`PRAGMA data_version` shows that another connection has written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import psycopg
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from .store import PATIENCE, Store, why

log = logging.getLogger("sotto.fleet")
TOKENS, WORKLOADS, QUOTAS, JOBS = "tokens", "workloads", "quotas", "jobs"
REPLICAS, ALL = "replicas", "all"
_CHANNEL = "sotto_fleet"
_POLL = 0.2  # seconds between two looks at an SQLite database
_RETRY = 0.5  # seconds before a lost connection is opened again
_CHECK = 5.0  # seconds without a notice after which the connection is checked


class Changes:
    """Delivers notices of topics to listeners.

    Attributes:
        reliable: False while notices of other processes may be missed; caches are not to be trusted then.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._listeners: list[Callable[[str], None]] = []
        self._waiters: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self.reliable = False

    async def start(self) -> None:
        """Begins to deliver notices of other processes."""
        ready = asyncio.Event()
        run = self._poll if self._store.is_sqlite else self._listen
        self._task = asyncio.create_task(run(ready))
        await asyncio.wait_for(ready.wait(), 30)

    async def stop(self) -> None:
        """Ends the delivery."""
        self._stopping.set()
        if self._task is not None:
            if not self._store.is_sqlite:
                self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def listen(self, listener: Callable[[str], None]) -> None:
        """Calls `listener` with the topic of each change; `ALL` stands for every topic."""
        self._listeners.append(listener)

    async def announce(self, session: AsyncSession, topic: str) -> None:
        """Makes the commit of a session send a notice."""
        if not self._store.is_sqlite:
            await session.execute(
                text("SELECT pg_notify(:channel, :topic)"), {"channel": _CHANNEL, "topic": topic}
            )

    def deliver(self, topic: str) -> None:
        """Delivers a notice in this process; after the commit."""
        for listener in self._listeners:
            listener(topic)
        for waiter in self._waiters:
            waiter.set()

    async def wait(self, seconds: float, waiter: asyncio.Event) -> None:
        """Waits for any change since `waiter` was last cleared, or for some seconds; clears it."""
        with suppress(TimeoutError):
            await asyncio.wait_for(waiter.wait(), seconds)
        waiter.clear()

    def waiter(self) -> asyncio.Event:
        """Returns an event for `wait()`. `forget()` ends it."""
        made = asyncio.Event()
        self._waiters.add(made)
        return made

    def forget(self, waiter: asyncio.Event) -> None:
        """Sets an event of `waiter()` no longer."""
        self._waiters.discard(waiter)

    async def _poll(self, ready: asyncio.Event) -> None:
        while not self._stopping.is_set():
            try:
                async with self._store.engine.connect() as connection:
                    await connection.execution_options(isolation_level="AUTOCOMMIT")
                    await self._poll_on(connection, ready)
            except (SQLAlchemyError, OSError) as error:
                log.warning("notices of changes are interrupted: %s", why(error))
                self.reliable = False
                await self._pause(_RETRY)

    async def _poll_on(self, connection: AsyncConnection, ready: asyncio.Event) -> None:
        """Polls on one connection, whose version counts the writes of all others."""
        seen = None
        while not self._stopping.is_set():
            version = (await connection.exec_driver_sql("PRAGMA data_version")).scalar_one()
            await connection.rollback()
            if version != seen and (seen is not None or ready.is_set()):
                self.deliver(ALL)
            seen = version
            self.reliable = True
            ready.set()
            await self._pause(_POLL)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _listen(self, ready: asyncio.Event) -> None:
        url = self._store.url.set(drivername="postgresql").render_as_string(hide_password=False)
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    url, autocommit=True, **PATIENCE
                ) as connection:
                    await connection.execute(f"LISTEN {_CHANNEL}")
                    self.reliable = True
                    self.deliver(ALL)
                    ready.set()
                    while True:
                        async for notice in connection.notifies(timeout=_CHECK):
                            self.deliver(notice.payload)
                        await connection.execute("SELECT 1")  # fails if the connection is lost
            except (psycopg.Error, SQLAlchemyError, OSError) as error:
                log.warning("notices of changes are interrupted: %s", why(error))
            self.reliable = False
            await asyncio.sleep(_RETRY)


@asynccontextmanager
async def watched(database: str, connections: int) -> AsyncIterator[tuple[Store, Changes]]:
    """Opens a store for a process of the data plane, with notices of its changes; closes both at the end.

    Raises:
        ArgumentError: The store cannot be opened.
    """
    store = await Store.open(database, connections)
    try:
        changes = Changes(store)
        try:
            await changes.start()
            yield store, changes
        finally:
            await changes.stop()
    finally:
        await store.close()
