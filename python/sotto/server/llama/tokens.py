"""`/tokenize`, `/detokenize`, `/apply-template`, and the routes that count a request's tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import HttpError
from ..routing import Route, service_of
from ..service import Service
from .asking import ask, detokenize, mixed_tokens, read, tokenize
from .chat import template_body
from .native import LlamaShape
from .setup import Setup

_SHAPE = LlamaShape()


def routes(setup: Setup) -> tuple[Route, ...]:
    """Returns the routes."""

    async def apply_template(request: Request) -> Response:
        service = service_of(request)
        asked = await read(request, service)
        told = await ask(request, service, "apply_template", template_body(asked.fields, setup))
        return JSONResponse({"prompt": told["prompt"]})

    async def count(request: Request) -> Response:
        service = service_of(request)
        asked = await read(request, service)
        return await _count(request, service, asked.fields, setup)

    async def count_response(request: Request) -> Response:
        service = service_of(request)
        asked = await read(request, service)
        asked.fields["messages"] = _messages(asked.fields)
        return await _count(request, service, asked.fields, setup)

    return (
        Route("POST", ("/tokenize", "/v1/tokenize"), _tokenize, _SHAPE),
        Route("POST", ("/detokenize", "/v1/detokenize"), _detokenize, _SHAPE),
        Route("POST", ("/apply-template", "/v1/apply-template"), apply_template, _SHAPE),
        Route("POST", ("/responses/input_tokens", "/v1/responses/input_tokens"), count_response, _SHAPE),
        Route("POST", ("/chat/completions/input_tokens", "/v1/chat/completions/input_tokens"), count, _SHAPE),
    )


async def _count(request: Request, service: Service, wanted: Mapping[str, Any], setup: Setup) -> Response:
    """Returns how many tokens the prompt of a chat has."""
    told = await ask(request, service, "apply_template", template_body(wanted, setup))
    tokens = await tokenize(request, service, wanted["model"], told["prompt"], special=True)
    return JSONResponse({"input_tokens": len(tokens), "object": "response.input_tokens"})


def _messages(wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the messages of a request of the Responses API. Raises `HttpError` 400."""
    given = wanted.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise HttpError(400, "invalid input: expected a text, or an array of items")
    messages = [
        {"role": item["role"], "content": _texts(item.get("content"))} for item in items if "role" in item
    ]
    system = wanted.get("instructions")
    return [{"role": "system", "content": system}, *messages] if isinstance(system, str) else messages


def _texts(content: object) -> object:
    """Returns the content of an item as that of a message."""
    if not isinstance(content, list):
        return content
    return [
        {"type": "text", "text": part["text"]} if isinstance(part, dict) and "text" in part else part
        for part in content
    ]


async def _tokenize(request: Request) -> Response:
    service = service_of(request)
    wanted = (await read(request, service)).fields
    content = wanted.get("content")
    special, parse = bool(wanted.get("add_special")), bool(wanted.get("parse_special", True))
    if content is None:
        return JSONResponse({"tokens": []})
    if isinstance(content, str) and wanted.get("with_pieces"):
        body = {"content": content, "add_special": special, "parse_special": parse, "with_pieces": True}
        return JSONResponse(await ask(request, service, "tokenize", {"model": wanted["model"], **body}))
    tokens: list[Any] = await mixed_tokens(
        request, service, wanted["model"], content, special=special, parse_special=parse
    )
    if wanted.get("with_pieces"):
        tokens = [
            {"id": token, "piece": await detokenize(request, service, wanted["model"], [token])}
            for token in tokens
        ]
    return JSONResponse({"tokens": tokens})


async def _detokenize(request: Request) -> Response:
    service = service_of(request)
    wanted = (await read(request, service)).fields
    tokens = wanted.get("tokens", [])
    if not isinstance(tokens, list):
        raise HttpError(400, "invalid tokens: expected an array of integers")
    return JSONResponse({"content": await detokenize(request, service, wanted["model"], tokens)})
