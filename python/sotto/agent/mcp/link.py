"""`Link`: the connection to one server, which is opened again when it is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from typing import Any

from ...errors import Status
from .catalog import Catalog, Offer, Rules
from .connection import Connection
from .errors import McpError, described_error
from .redaction import Redactor
from .sources import Source

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 8.0  # seconds before a connection is opened again, doubled each time


class Link:
    """The connection to one server. Its coroutines run on the background loop, `abandon()` anywhere.

    A lost connection is opened again by the next call, after a pause that doubles, at most `most_restarts`
    times until a call has a result.

    Args:
        name: Name of the server, for errors.
        source: Where it is.
        rules: Which of its tools are taken.
        connect_limit: Longest time in seconds to connect and to list the tools.
        max_concurrent: Maximum number of calls at once; more wait.
        max_restarts: How often the connection is opened again without a result between.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        rules: Rules,
        connect_limit: float,
        max_concurrent: int,
        max_restarts: int,
    ) -> None:
        self.catalog = Catalog()
        self.opened = False  # ever
        self._name = name
        self._source = source
        self._rules = rules
        self._connect_limit = connect_limit
        self._max_restarts = max_restarts
        self._redactor = Redactor(source.secrets())
        self._calls = asyncio.Semaphore(max_concurrent)
        self._opening = asyncio.Lock()  # one at a time; guards what is below
        self._connection: Connection | None = None
        self._made: Connection | None = None  # the one that is opened now
        self._restarts = 0
        self._lost = 0.0  # when the connection was lost last
        self._reason = ""
        self._closed = False
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def alive(self) -> bool:
        """True if the connection is open."""
        return self._connection is not None and self._connection.alive

    async def open(self) -> None:
        """Connects, or lists the tools again if the connection is open. Restarts count from 0 again."""
        self._check()
        async with self._opening:
            self._restarts = 0
            if self.alive and self._connection is not None:
                with contextlib.suppress(Exception):
                    await self._list(self._connection)
                    return
            await self._open()

    async def call(self, offer: Offer, arguments: dict[str, Any]) -> Any:
        """Calls a tool. A call whose connection is lost is not sent again: it may have acted.

        Raises:
            McpError: The server is gone, or did not answer as expected.
        """
        async with self._calls:
            while True:
                connection = await self._ready()
                try:
                    if connection.stale:
                        await self._list(connection)
                    self._check_offer(offer)
                    result = await connection.call(offer.remote, arguments)
                except McpError:
                    raise
                except Exception as error:
                    if connection.refused_by(error):  # the server restarted: it did not run the call
                        await self._note_loss(connection)
                        continue
                    raise await self._failed(connection, error) from None
                self._restarts = 0
                return result

    async def close(self) -> None:
        """Ends the connection, within 7 seconds. A second call does nothing."""
        if self._pid != os.getpid():
            return
        self._closed = True
        for one in (self._connection, self._made):
            if one is not None:
                await one.close()
        self._connection = None

    def abandon(self) -> None:
        """Ends the connection, without a wait."""
        loop = self._loop
        if loop is not None and self._pid == os.getpid() and not loop.is_closed():
            loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self.close()))

    def clean(self, text: str) -> str:
        """Returns a text without the secrets of the server's source."""
        return self._redactor.clean(text)

    # Internal

    def _check(self) -> None:
        if self._pid != os.getpid():
            raise self._error(
                f"it belongs to process {self._pid}, which this one is a fork of; make another one"
            )
        if self._closed:
            raise self._error("it is closed; make another one")

    async def _ready(self) -> Connection:
        """Returns the open connection; opens it again if it was lost."""
        self._check()
        if self._connection is not None and self._connection.alive:
            return self._connection
        async with self._opening:
            while True:
                self._check()
                if self._connection is not None and self._connection.alive:
                    return self._connection
                if self._connection is not None:
                    await self._note_loss(self._connection)
                if self._restarts >= self._max_restarts:
                    raise self._error(
                        f"{self._reason}; it was started again {self._restarts} times without a result: "
                        "see to the server, and call connect()"
                    )
                if self._restarts:
                    pause = min(_FIRST_PAUSE * 2 ** (self._restarts - 1), _LONGEST_PAUSE)
                    await asyncio.sleep(self._lost + pause - time.monotonic())
                self._restarts += 1
                with contextlib.suppress(McpError):
                    return await self._open()

    async def _open(self) -> Connection:
        """Opens a connection, and lists the tools."""
        from anyio import fail_after

        self._loop = asyncio.get_running_loop()
        if (old := self._connection) is not None:
            self._connection = None
            await old.close()
        self._made = made = Connection(self._source)
        try:
            with fail_after(self._connect_limit):
                await made.open()
                await self._list(made)
        except BaseException as error:
            await made.close()
            self._lost = time.monotonic()
            if not isinstance(error, Exception):
                raise
            self._reason = self._said(made, error)
            if isinstance(error, TimeoutError):
                self._reason = f"no connection within {self._connect_limit:g} s"
            self._check()
            raise self._error(self._reason, Status.NOT_FOUND) from None
        finally:
            self._made = None
        if self._closed:
            await made.close()
            self._check()
        self._connection, self.opened = made, True
        return made

    async def _list(self, connection: Connection) -> None:
        """Reads the tools of the server."""
        connection.stale = False
        try:
            listed = await connection.list_tools()
        except BaseException:
            connection.stale = True
            raise
        self.catalog = Catalog.of(listed, self._rules)

    def _check_offer(self, offer: Offer) -> None:
        mark = self.catalog.marks.get(offer.remote)
        if mark is None:
            raise self._error(f"it has no tool '{offer.remote}' any more; make a new agent")
        if mark != offer.mark:
            raise self._error(f"it changed the schema of '{offer.remote}' meanwhile; make a new agent")

    async def _failed(self, connection: Connection, error: Exception) -> McpError:
        """Returns the error of a request. Waits for the reason, if the connection is lost."""
        if self._closed:
            return self._error("it was closed meanwhile; the call may have acted")
        if connection.lost_by(error):
            await self._note_loss(connection)
            return self._error(f"{self._reason}; the call may have acted")
        return self._error(self._said(connection, error))

    async def _note_loss(self, connection: Connection) -> None:
        await connection.close()
        if self._connection is connection:
            self._connection = None
            self._lost = time.monotonic()
            self._reason = self.clean(connection.reason or "the connection is lost")

    def _said(self, connection: Connection, error: Exception) -> str:
        status = f" (HTTP status {connection.status})" if connection.status else ""
        reason = connection.reason if connection.lost_by(error) else ""
        return self.clean(f"{reason or described_error(error)}{status}")

    def _error(self, reason: str, status: int = Status.STATE) -> McpError:
        return McpError(self.clean(f"MCP server '{self._name}' ({self._source.where}): {reason}"), status)
