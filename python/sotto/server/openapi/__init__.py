"""`GET /openapi.json`: the description of all routes, for tools that generate clients and tests."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..routing import Route
from .document import document


async def _openapi(request: Request) -> Response:
    """Returns the description of the server's API."""
    state = request.app.state
    if not hasattr(state, "document"):
        state.document = document(state.routes, needs_key=bool(state.service.settings.keys))
    if mounted := request.scope.get("root_path"):
        return JSONResponse({**state.document, "servers": [{"url": mounted}]})
    return JSONResponse(state.document)


ROUTES = (Route("GET", ("/openapi.json",), _openapi),)
