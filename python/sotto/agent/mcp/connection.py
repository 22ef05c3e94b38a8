"""`Connection`: one session with a server, from the handshake to its end."""

from __future__ import annotations

import asyncio
import contextlib
from functools import cache
from typing import Any

from .errors import Unusable, described_error, first_cause
from .meter import CLOSED, Meter
from .sources import McpHttp, McpProcess, Source

_GRACE = 4.0  # seconds in which a connection ends by itself
_FORCED = 2.0  # seconds in which it ends when it is cancelled
_MOST_PAGES, _MOST_TOOLS = 64, 1024  # of a list of tools
_tasks: set[asyncio.Task[None]] = set()  # the loop keeps no strong reference to a task


class Connection:
    """One session with a server. Belongs to one event loop.

    A task holds it: what the package `mcp` opens in a task, it closes in the same.
    """

    def __init__(self, source: Source) -> None:
        self.stale = False  # the server has changed its list of tools
        self._source = source
        self._meter = Meter()
        self._responses: Any = None
        self._client: Any = None
        self._task: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """True from the handshake until the server or `close()` ends the session."""
        return self._client is not None and not self._meter.ended.is_set()

    @property
    def reason(self) -> str:
        """Why the session ended."""
        return self._meter.reason

    @property
    def status(self) -> int:
        """HTTP status of the last response, if it was none of success; 0: it was, or this is not HTTP."""
        return 0 if self._responses is None else int(self._responses.error)

    async def open(self) -> None:
        """Connects. Raises whatever the transport or the handshake raises."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(self._hold(opened))
        _tasks.add(self._task)
        self._task.add_done_callback(_tasks.discard)
        await opened

    async def list_tools(self) -> list[Any]:
        """Returns the tools that the server lists, as the package has them."""
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                return found
            if len(found) > _MOST_TOOLS:
                break
        raise Unusable(f"it lists more than {_MOST_TOOLS} tools, or in more than {_MOST_PAGES} pages")

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Calls a tool. Cancelling it cancels the request at the server.

        Returns:
            A `CallToolResult`. It is not checked with the schema that the server gives for it: a result is
            data in any form, and such a check can take hours.
        """
        import mcp_types as types

        request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=arguments))
        result = await self._client.session.send_request(request, _result_form())
        if isinstance(result, types.InputRequiredResult):
            raise Unusable("the tool asks for input, which a character cannot give")
        return result

    async def close(self) -> None:
        """Ends the session, within 6 seconds, also if the server does not answer. May be called again."""
        self._meter.end("")
        task = self._task
        if task is None:
            return
        if self._client is None:
            task.cancel()  # in the handshake, which waits for the server
        await asyncio.wait({task}, timeout=_GRACE)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_FORCED)

    def lost_by(self, error: BaseException) -> bool:
        """Returns True if an error means that the session is over."""
        return self._meter.ended.is_set() or _is_closed(error)

    def refused_by(self, error: BaseException) -> bool:
        """Returns True if the server does not know the session any more, and so did not run the request."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import INVALID_REQUEST

        refused = isinstance(error, MCPError) and error.code == INVALID_REQUEST
        return refused and self._responses is not None and str(error) == "Session terminated"

    # The task

    async def _hold(self, opened: asyncio.Future[None]) -> None:
        """Opens the session, waits until it ends, and closes it."""
        try:
            async with contextlib.AsyncExitStack() as stack:
                client = await stack.enter_async_context(self._new_client())
                watching = asyncio.ensure_future(self._watch(client))
                stack.callback(watching.cancel)
                self._client = client
                if not opened.done():
                    opened.set_result(None)
                await self._meter.ended.wait()
        except asyncio.CancelledError:
            if not opened.done():  # `close()` came first
                opened.set_exception(ConnectionAbortedError("the connection was closed meanwhile"))
            raise
        except BaseException as error:
            cause = first_cause(error)
            self._meter.explain(CLOSED if _is_closed(cause) else described_error(cause))
            if opened.done():
                return
            if isinstance(cause, Exception):
                opened.set_exception(cause)
            else:
                opened.cancel()
        finally:
            self._meter.end("the connection is closed")

    def _new_client(self) -> Any:
        from mcp.client import Client
        from mcp_types import Implementation

        from ... import __version__

        about = Implementation(name="sotto", version=__version__)
        return Client(self._transport(), cache=None, client_info=about, message_handler=self._notice)

    def _transport(self) -> Any:
        if isinstance(self._source, McpProcess):
            from .stdio import stdio_transport

            return stdio_transport(self._source, self._meter)
        if isinstance(self._source, McpHttp):
            from .streamable_http import Responses, http_transport

            self._responses = Responses()
            return http_transport(self._source, self._meter, self._responses)
        from .websocket import websocket_transport

        return websocket_transport(self._source, self._meter)

    async def _notice(self, message: Any) -> None:
        """Notes that the list of tools has changed, on connections of older protocols."""
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self.stale = True

    async def _watch(self, client: Any) -> None:
        """Notes that the list of tools has changed, on connections of newer protocols."""
        from mcp.client.subscriptions import ListenNotSupportedError

        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.stale = True
        except ListenNotSupportedError:
            pass
        except Exception:
            self.stale = True  # what was not heard may have changed it


@cache
def _result_form() -> Any:
    import mcp_types as types
    from pydantic import TypeAdapter

    return TypeAdapter(types.CallToolResult | types.InputRequiredResult)


def _is_closed(error: BaseException) -> bool:
    """Returns True for the error of the package for a closed connection. Servers use its code, too."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED

    closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED
    return closed and str(error) == "Connection closed"
