"""Whether the server can answer."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .errors import HttpError
from .routing import Route, service_of


async def _health(request: Request) -> Response:
    service = service_of(request)
    if service.draining:
        raise HttpError(503, "the server is shutting down")
    if service.loading:
        raise HttpError(503, "Loading model")
    stats = service.engine.stats()
    busy = stats.prefilling + stats.decoding
    slots = sum(model.get("streams", 0) for model in service.models())
    return JSONResponse({"status": "ok", "slots_idle": max(slots - busy, 0), "slots_processing": busy})


async def _ready(request: Request) -> Response:
    service = service_of(request)
    if service.draining:
        raise HttpError(404, "the server is shutting down")
    if service.loading:
        raise HttpError(503, "Loading model")
    return JSONResponse({"status": "ok"})


ROUTES = (
    Route("GET", ("/health", "/v1/health"), _health),
    Route("GET", ("/ready",), _ready),
)
