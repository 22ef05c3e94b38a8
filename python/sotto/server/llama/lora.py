"""`/lora-adapters`: the adapters of the model, and their scales."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..asking import read_text
from ..errors import HttpError
from ..routing import Route, service_of
from .asking import scales_of
from .native import LlamaShape
from .setup import Setup

_SHAPE = LlamaShape()


def routes(setup: Setup) -> tuple[Route, ...]:
    """Returns the routes."""
    return (
        Route("GET", ("/lora-adapters", "/v1/lora-adapters"), _list, _SHAPE),
        Route("POST", ("/lora-adapters", "/v1/lora-adapters"), _change, _SHAPE),
    )


async def _list(request: Request) -> Response:
    service = service_of(request)
    model = service.resolve(request.query_params.get("model"))
    return JSONResponse(
        [
            {
                "id": number,
                "path": adapter["path"],
                "scale": adapter["scale"],
                "task_name": "",
                "prompt_prefix": "",
            }
            for number, adapter in enumerate(service.engine.lora_list(model))
        ]
    )


async def _change(request: Request) -> Response:
    """Sets the scales of all adapters: 0 for those that the request does not list."""
    service = service_of(request)
    model = service.resolve(request.query_params.get("model"))
    try:
        asked: Any = json.loads(await read_text(request, service))
    except (ValueError, RecursionError) as error:
        raise HttpError(400, f"invalid body: {error or 'nested too deeply'}") from None
    if not isinstance(asked, list):
        raise HttpError(400, "Request body must be an array")
    names = [adapter["name"] for adapter in service.engine.lora_list(model)]
    scales = scales_of(asked, len(names))
    for number, name in enumerate(names):
        await service.engine.lora_set_scale(model, scales.get(number, 0.0), name=name)
    return JSONResponse({"success": True})
