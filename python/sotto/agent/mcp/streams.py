"""The streams of a connection as the package `mcp` reads and writes them."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from .meter import CLOSED, Meter

Item = SessionMessage | Exception


class Wire(Protocol):
    """Sends and receives whole messages as bytes."""

    async def receive(self) -> bytes | None:
        """Waits for a message. None: the connection is over."""

    async def send(self, message: bytes) -> None:
        """Sends a message. Raises OSError if the connection is over."""


class _Stream:
    async def aclose(self) -> None:
        """Does nothing: the connection closes the wire."""

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Incoming(_Stream):
    """The messages of a server over a wire. What is not JSON-RPC is passed over."""

    def __init__(self, wire: Wire, meter: Meter) -> None:
        self._wire, self._meter = wire, meter

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> Item:
        while (data := await self._wire.receive()) is not None:
            if not self._meter.data(len(data)):
                break
            try:
                message = jsonrpc_message_adapter.validate_json(data, by_name=False)
            except ValueError:
                if not self._meter.garbage():
                    break
                continue
            if not self._meter.message():
                break
            return SessionMessage(message)
        self._meter.end(CLOSED)
        raise StopAsyncIteration

    async def receive(self) -> Item:
        """Waits for a message."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class Outgoing(_Stream):
    """The messages to a server over a wire."""

    def __init__(self, wire: Wire, meter: Meter) -> None:
        self._wire, self._meter = wire, meter

    async def send(self, item: SessionMessage) -> None:
        """Sends a message."""
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await self._wire.send(text.encode())
        except OSError:
            self._meter.end("the server reads no more")
            raise anyio.BrokenResourceError from None


class Metered(_Stream):
    """The messages of a server over a transport of the package, counted."""

    def __init__(self, stream: Any, meter: Meter) -> None:
        self._stream, self._meter = stream, meter

    @property
    def last_context(self) -> Any:
        """The context of the task that wrote the last message."""
        return getattr(self._stream, "last_context", None)

    def __aiter__(self) -> Metered:
        return self

    async def __anext__(self) -> Item:
        try:
            item: Item = await self._stream.__anext__()
        except StopAsyncIteration:
            self._meter.end(CLOSED)
            raise
        if not self._meter.message():
            raise StopAsyncIteration
        return item

    async def receive(self) -> Item:
        """Waits for a message."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def aclose(self) -> None:
        """Closes the stream."""
        await self._stream.aclose()
