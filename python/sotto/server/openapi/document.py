"""Writes the description of routes in OpenAPI 3.1."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..gate import OPEN_PATHS
from ..routing import Route
from .components import OWN
from .described import DESCRIBED, Described
from .schemas import ERROR, EVENT, Schema, body_of, engine_schemas, reference

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_JSON = "application/json"
_REFUSED = {  # of every route
    401: "The request has no valid API key.",
    403: "The server does not answer for this host.",
    500: "The server or the model failed.",
    503: "The server is loading, shutting down or out of memory, or the answer took too long.",
}
_INVALID = {  # of routes that read a body
    400: "The request is invalid; the message names the field.",
    404: "The model, or what the request names, does not exist.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body is of another content type.",
    429: "Too many requests are being answered.",
    501: "The model does not perform this operation.",
}


def document(routes: Iterable[Route], *, needs_key: bool) -> Schema:
    """Returns the description of routes.

    Args:
        routes: The routes of the server.
        needs_key: Whether requests need an API key.
    """
    from ... import __version__

    schemas = {**engine_schemas(), **OWN, "error": ERROR}
    paths: Schema = {}
    for route in routes:
        for path in route.paths:
            there = paths.setdefault(_PARAMETER.sub(r"{\1}", path), {})
            there[route.method.lower()] = _operation(route, path, schemas, needs_key)
    made: Schema = {
        "openapi": "3.1.0",
        "info": {"title": "Sotto", "version": __version__, "license": {"name": "MIT"}},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if needs_key:
        made["components"]["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "header": {"type": "apiKey", "in": "header", "name": "x-api-key"},
        }
    return made


def _operation(route: Route, path: str, schemas: Mapping[str, Any], needs_key: bool) -> Schema:
    known = (DESCRIBED.get((route.method, path)) for path in route.paths)
    told = next(filter(None, known), None) or _plain(route)
    made: Schema = {
        "summary": told.summary,
        "operationId": re.sub(r"\W+", "_", route.method.lower() + _PARAMETER.sub(r"by_\1", path)),
        "responses": _responses(told, bool(_PARAMETER.search(path))),
    }
    parameters = [_parameter(name) for name in _PARAMETER.findall(path)]
    for name in told.query:
        parameters.append({"name": name, "in": "query", "schema": {"type": "string"}})
    if parameters:
        made["parameters"] = parameters
    if told.body is not None or told.operation:
        content = told.body or body_of(schemas, told.operation, told.required, told.changed)
        if told.is_closed:
            content["additionalProperties"] = False
        bodies = {told.takes: {"schema": content}}
        if told.form is not None:
            bodies["multipart/form-data"] = {"schema": told.form}
        made["requestBody"] = {"required": True, "content": bodies}
    if needs_key and path not in OPEN_PATHS:
        made["security"] = [{"bearer": []}, {"header": []}]
    return made


def _plain(route: Route) -> Described:
    """Returns the description of a route that has none: JSON of any form."""
    body = {"type": "object"} if route.method in ("POST", "PUT", "PATCH") else None
    return Described(_summary(route), body=body, answer={})


def _summary(route: Route) -> str:
    lines = (route.endpoint.__doc__ or "").strip().splitlines()
    return lines[0] if lines else f"{route.method} {route.paths[0]}"


def _parameter(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _responses(told: Described, named: bool) -> Schema:
    content: Schema = {kind: {"schema": {"type": "string"}} for kind in told.also}
    if told.answer is not None:
        schema = reference(told.answer) if isinstance(told.answer, str) else told.answer
        content[_JSON] = {"schema": schema}
    if told.is_stream:
        content["text/event-stream"] = {"schema": EVENT}
    made: Schema = {str(told.status): {"description": "The answer.", "content": content}}
    error = reference(told.error)
    statuses = {**_REFUSED, **told.refused}
    if told.body is not None or told.operation or named:
        statuses.update(_INVALID)
    for status, meaning in sorted(statuses.items()):
        made[str(status)] = {"description": meaning, "content": {_JSON: {"schema": error}}}
    return made
