"""A server over streamable HTTP, by the package `mcp`, with limits for what it sends."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from .meter import MAX_MESSAGE, Meter
from .sources import McpHttp
from .streams import Metered

_TIMEOUT = httpx2.Timeout(30.0, connect=10.0, read=600.0)  # seconds; calls have limits of their own


@contextlib.asynccontextmanager
async def http_transport(
    source: McpHttp, meter: Meter, seen: Responses
) -> AsyncIterator[tuple[Metered, Any]]:
    """Connects to a server."""
    from mcp.client.streamable_http import streamable_http_client

    inner = httpx2.AsyncHTTPTransport(verify=httpx2.create_ssl_context() if source.secure else False)
    client = httpx2.AsyncClient(
        transport=_Limited(inner, meter, seen),
        headers={**source.fields(), "accept-encoding": "identity"},
        timeout=_TIMEOUT,
    )
    async with (
        client,
        streamable_http_client(source.url, http_client=client, max_sse_event_size=MAX_MESSAGE) as (
            read,
            write,
        ),
    ):
        yield Metered(read, meter), write


class Responses:
    """What the server answered below the protocol. `error`: the last status of 300 or more; 0: none."""

    def __init__(self) -> None:
        self.error = 0


class _Limited(httpx2.AsyncBaseTransport):
    """Bounds the size of a response, and refuses compressed ones, whose size is not known."""

    def __init__(self, inner: httpx2.AsyncHTTPTransport, meter: Meter, seen: Responses) -> None:
        self._inner, self._meter, self._seen = inner, meter, seen

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        self._seen.error = response.status_code if response.status_code >= 300 else 0
        response.headers.pop("content-encoding", None)
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, None if events else MAX_MESSAGE, self._meter)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most: int | None, meter: Meter) -> None:
        self._stream, self._most, self._meter = stream, most, meter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if self._most is not None and size > self._most:
                raise httpx2.StreamError(f"the answer has more than {self._most} bytes")
            if not self._meter.data(len(part)):
                raise httpx2.StreamError("the server sends too much")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
