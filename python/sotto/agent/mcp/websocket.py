"""A server over WebSocket."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

from .meter import MAX_MESSAGE, Meter
from .sources import McpWebSocket
from .streams import Incoming, Outgoing

_CLOSE = 1.0  # seconds for the closing handshake
_silent = logging.Logger("sotto.agent.mcp.websocket", logging.CRITICAL + 1)  # headers stand in its lines


@contextlib.asynccontextmanager
async def websocket_transport(source: McpWebSocket, meter: Meter) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Connects to a server.

    Raises:
        OSError: The server cannot be reached.
        websockets.WebSocketException: It refuses the connection.
    """
    from websockets.asyncio.client import connect
    from websockets.typing import Subprotocol

    class Connect(connect):
        def process_redirect(self, error: Exception) -> Exception:
            """Follows no redirect: the token is for this address."""
            return error

    async with Connect(
        source.url,
        subprotocols=[Subprotocol("mcp")],
        additional_headers=source.fields(),
        max_size=MAX_MESSAGE,
        max_queue=16,
        compression=None,
        logger=_silent,
        proxy=None,
        open_timeout=None,  # the connection has a limit of its own
        close_timeout=_CLOSE,
    ) as socket:
        wire = _Wire(socket, meter)
        yield Incoming(wire, meter), Outgoing(wire, meter)


class _Wire:
    def __init__(self, socket: Any, meter: Meter) -> None:
        self._socket, self._meter = socket, meter

    async def receive(self) -> bytes | None:
        from websockets.exceptions import ConnectionClosed

        try:
            message = await self._socket.recv()
        except ConnectionClosed as closed:
            if closed.sent is not None and closed.sent.code == 1009:
                self._meter.end(f"it sent a message of more than {MAX_MESSAGE} bytes")
            return None
        return message.encode() if isinstance(message, str) else bytes(message)

    async def send(self, message: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._socket.send(message.decode())
        except ConnectionClosed:
            raise BrokenPipeError from None
