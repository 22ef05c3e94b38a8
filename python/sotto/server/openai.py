"""The routes of OpenAI's API. The engine reads and writes their bodies; nothing is translated here."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .._ops import Op
from . import several
from .answering import answer
from .anthropic import models as anthropic
from .asking import read_asked
from .errors import HttpError
from .routing import Endpoint, Route, service_of
from .shapes import Shape, Typed

_OPENAI, _TYPED = Shape(), Typed()


def operation(op: Op, shape: Shape) -> Endpoint:
    """Returns the endpoint that passes a body to an operation of the engine."""

    async def endpoint(request: Request) -> Response:
        service = service_of(request)
        return await answer(request, service, op, await read_asked(request, service), shape)

    return endpoint


def _without_stream(op: Op) -> Endpoint:
    """Returns the endpoint of an operation whose answer is never a stream."""

    async def endpoint(request: Request) -> Response:
        service = service_of(request)
        asked = await read_asked(request, service)
        if asked.stream:
            raise HttpError(400, "invalid stream 'true': this answer is not a stream")
        return await answer(request, service, op, asked, _OPENAI)

    return endpoint


async def _completions(request: Request) -> Response:
    """Continues a text, or each of several."""
    service = service_of(request)
    asked = await read_asked(request, service)
    if several.is_several(asked.fields.get("prompt")):
        return await several.answer_each(request, service, asked)
    return await answer(request, service, "completion", asked, _OPENAI)


async def _models(request: Request) -> Response:
    service = service_of(request)
    if anthropic.is_asked(request):
        return JSONResponse(anthropic.listed(service.models(), service.started))
    models = [_model(told, service.started) for told in service.models()]
    return JSONResponse({"object": "list", "data": models})


async def _one_model(request: Request) -> Response:
    service, asked = service_of(request), request.path_params["model"]
    for told in service.models():
        if told["id"] == asked:
            if anthropic.is_asked(request):
                return JSONResponse(anthropic.described(told, service.started))
            return JSONResponse(_model(told, service.started))
    raise HttpError(404, f"model '{asked}' is not loaded")


def _model(told: dict[str, Any], created: int) -> dict[str, Any]:
    """Returns a model in OpenAI's form, with what llama.cpp's clients read in `meta`."""
    details = told.get("details", {})
    meta = {
        "n_vocab": details.get("vocabulary"),
        "n_ctx": told.get("context"),
        "n_ctx_train": details.get("trained_context"),
        "n_params": details.get("parameters"),
        "size": details.get("size"),
    }
    return {
        "id": told["id"],
        "object": "model",
        "created": created,
        "owned_by": told.get("owned_by", "sotto"),
        "meta": {name: value for name, value in meta.items() if value is not None},
    }


ROUTES = (
    Route("GET", ("/v1/models", "/models"), _models),
    Route("GET", ("/v1/models/{model:path}",), _one_model),
    Route("POST", ("/v1/chat/completions", "/chat/completions"), operation("chat", _OPENAI)),
    Route("POST", ("/v1/completions",), _completions),
    Route("POST", ("/v1/responses", "/responses"), operation("respond", _TYPED)),
)
