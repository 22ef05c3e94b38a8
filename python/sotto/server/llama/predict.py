"""`/predict`: the form of Google Cloud's Vertex AI, which starts servers with AIP_MODE=PREDICTION."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..asking import parse, read_text
from ..errors import HttpError
from ..routing import Route, service_of
from . import fields
from .asking import ask_all
from .chat import continued
from .completion import engine_body
from .native import LlamaShape
from .setup import Setup

_SHAPE = LlamaShape()
_MAX_INSTANCES = 128


def routes(setup: Setup, environment: Mapping[str, str] = os.environ) -> tuple[Route, ...]:
    """Returns the route where the environment asks for it. AIP_PREDICT_ROUTE names another path."""
    if environment.get("AIP_MODE") != "PREDICTION":
        return ()
    path = environment.get("AIP_PREDICT_ROUTE") or "/predict"

    async def predict(request: Request) -> Response:
        service = service_of(request)
        asked = parse(await read_text(request, service))
        bodies = []
        for instance in _instances(asked.fields):
            model = instance.get("model")
            wanted = {
                **setup.chat,
                **instance,
                "model": service.resolve(model if isinstance(model, str) else None),
            }
            bodies.append(continued(await engine_body(request, service, setup, wanted, fields.CHAT)))
        told = await ask_all(request, service, "chat", bodies, asked.options)
        return JSONResponse({"predictions": [json.loads(one) for one in told]})

    return (Route("POST", (path if path.startswith("/") else f"/{path}",), predict, _SHAPE),)


def _instances(wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the chats of a request. Raises `HttpError` 400."""
    given = wanted.get("instances")
    if not isinstance(given, list) or not 0 < len(given) <= _MAX_INSTANCES:
        raise HttpError(400, f"invalid instances: expected an array of 1 to {_MAX_INSTANCES} requests")
    for at, instance in enumerate(given):
        form = instance.get("@requestFormat") if isinstance(instance, dict) else None
        if form != "chatCompletions":
            raise HttpError(400, f"invalid instances[{at}].@requestFormat: expected chatCompletions")
    return given
