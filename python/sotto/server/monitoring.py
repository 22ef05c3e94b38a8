"""Routes for those who watch a server: `/metrics`, the stream `/v1/stats`, and the page `/`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from .errors import HttpError
from .page import page
from .routing import Route, service_of
from .service import Service

_MAX_WATCHERS = 64
_MEMORY = 1.0  # seconds between figures of memory, which cost more than the others
_INTERVAL_MS = (50, 60_000, 250)  # lowest, highest, default


async def _metrics(request: Request) -> Response:
    service = service_of(request)
    if not service.settings.metrics:
        message = "This server does not support metrics endpoint. Start it with `--metrics`"
        raise HttpError(501, message)
    headers = {"Process-Start-Time-Unix": str(service.started)}
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4", headers=headers)


async def _page(request: Request) -> Response:
    text, headers = page()
    return Response(text, media_type="text/html; charset=utf-8", headers=headers)


async def _stats(request: Request) -> Response:
    service, interval = service_of(request), _interval(request)
    if service.watchers >= _MAX_WATCHERS:
        raise HttpError(429, f"{_MAX_WATCHERS} clients read /v1/stats already; ask again later")
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(_watch(service, interval), media_type="text/event-stream", headers=headers)


def _interval(request: Request) -> float:
    """Returns the seconds between two events, from the query `interval_ms`."""
    lowest, highest, default = _INTERVAL_MS
    given = request.query_params.get("interval_ms", str(default))
    if not given.isdecimal() or not lowest <= int(given[:9]) <= highest:
        raise HttpError(400, f"invalid interval_ms '{given[:20]}': expected {lowest} to {highest}")
    return int(given) / 1000


async def _watch(service: Service, interval: float) -> AsyncIterator[str]:
    """Yields the state of the engine until the client leaves, its time is over or the server shuts down."""
    service.watchers += 1
    end, measured = time.monotonic() + service.settings.timeout, 0.0
    try:
        while not service.draining and time.monotonic() < end:
            told: dict[str, Any] = {
                "time": time.time(),
                "stats": service.engine.stats()._asdict(),
                "answers": service.answers(),
            }
            if (now := time.monotonic()) - measured >= _MEMORY:
                told["memory"], measured = service.engine.memory(), now
            yield f"data: {json.dumps(told)}\n\n"
            await asyncio.sleep(interval)
    finally:
        service.watchers -= 1


ROUTES = (
    Route("GET", ("/",), _page),
    Route("GET", ("/metrics",), _metrics),
    Route("GET", ("/v1/stats",), _stats),
)
