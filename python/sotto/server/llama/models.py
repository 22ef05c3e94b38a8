"""`/models/load` and `/models/unload`: the models that the server was started with."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..asking import parse, read_text
from ..errors import HttpError
from ..routing import Route, service_of
from ..service import Service
from .native import LlamaShape
from .setup import Setup

_SHAPE = LlamaShape()


def routes(setup: Setup) -> tuple[Route, ...]:
    """Returns the routes."""
    return (
        Route("POST", ("/models/load", "/v1/models/load"), _load, _SHAPE),
        Route("POST", ("/models/unload", "/v1/models/unload"), _unload, _SHAPE),
    )


async def _load(request: Request) -> Response:
    """Loads a model again that was unloaded. Clients cannot name files: only models of the command line."""
    service = service_of(request)
    model = await _named(request, service)
    if service.engine.model_is_loaded(model):
        raise HttpError(400, f"model '{model}' is already loaded")
    await service.known[model]()
    return JSONResponse({"success": True})


async def _unload(request: Request) -> Response:
    service = service_of(request)
    model = await _named(request, service)
    if not service.engine.model_is_loaded(model):
        raise HttpError(400, f"model '{model}' is not loaded")
    await service.engine.unload_model(model)
    return JSONResponse({"success": True})


async def _named(request: Request, service: Service) -> str:
    """Returns the model that a request names. Raises `HttpError` 400 or 404."""
    model = parse(await read_text(request, service)).fields.get("model")
    if not isinstance(model, str):
        raise HttpError(400, "missing model: expected the id of a model")
    if model not in service.known:
        known = ", ".join(service.known) or "none"
        raise HttpError(404, f"model '{model[:200]}' is unknown; the server was started with: {known}")
    return model
