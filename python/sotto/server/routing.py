"""Routes, and what surrounds each of them: errors become responses in the form of their API."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import SottoError
from .errors import HttpError, to_http
from .service import Service
from .shapes import Shape

Endpoint = Callable[[Request], Awaitable[Response]]
log = logging.getLogger("sotto.server")
_PLAIN = Shape()


class Route(NamedTuple):
    """An endpoint, its method and all its paths. `shape`: the form of its errors."""

    method: str
    paths: tuple[str, ...]
    endpoint: Endpoint
    shape: Shape = _PLAIN


def service_of(request: Request) -> Service:
    """Returns the service of the server that answers `request`."""
    return cast(Service, request.app.state.service)


def guarded(endpoint: Endpoint, shape: Shape) -> Endpoint:
    """Returns `endpoint` with its exceptions as error responses."""

    async def run(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (HttpError, SottoError) as error:
            return error_response(error, shape)
        except Exception as error:
            log.exception("%s %s failed", request.method, request.url.path)
            return error_response(error, shape)

    return run


def error_response(error: Exception, shape: Shape = _PLAIN) -> Response:
    """Returns the response for an exception."""
    told = to_http(error)
    return JSONResponse(shape.error(told), told.status, headers=told.headers)
