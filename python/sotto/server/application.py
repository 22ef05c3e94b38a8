"""`app()`: the server as an ASGI application."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path

from .. import aio
from . import anthropic, audio, health, images, llama, monitoring, openai, openapi, sessions
from .errors import HttpError
from .gate import Gate
from .logs import AccessLog
from .routing import Route, error_response, guarded
from .service import Service
from .settings import Settings

ROUTES: tuple[Route, ...] = (
    *health.ROUTES,
    *llama.routes(),
    *openai.ROUTES,
    *anthropic.ROUTES,
    *audio.ROUTES,
    *images.ROUTES,
    *sessions.ROUTES,
    *monitoring.ROUTES,
    *openapi.ROUTES,
)


def app(engine: aio.Engine, settings: Settings | None = None) -> Starlette:
    """Returns a server for an engine, as an ASGI application that others can mount.

    The application answers on the event loop that the engine belongs to. It never closes the engine.

    Args:
        engine: An engine with the models that the server answers for.
        settings: Keys and limits; by default, programs of this machine may ask, without a key.

    >>> engine = sotto.aio.Engine()
    >>> await engine.load_model("sotto/house")
    >>> application = Starlette(routes=[Mount("/sotto", sotto.server.app(engine))])
    """
    return make(Service(engine, settings or Settings()), ROUTES)


def make(service: Service, routes: Iterable[Route]) -> Starlette:
    """Returns the application that answers `routes` for a service."""
    settings = service.settings
    routes = tuple(routes)
    shapes = {path: route.shape for route in routes for path in route.paths}
    middleware = [
        Middleware(AccessLog, count=service.metrics.count),
        Middleware(Gate, hosts=settings.hosts, keys=settings.keys, shapes=shapes),
        Middleware(sessions.SessionHeader),
    ]
    if settings.origins:
        cors = Middleware(
            CORSMiddleware, allow_origins=settings.origins, allow_methods=["*"], allow_headers=["*"]
        )
        middleware.insert(0, cors)
    paths = [
        Path(path, guarded(route.endpoint, route.shape), methods=[route.method])
        for route in routes
        for path in route.paths
    ]
    made = Starlette(routes=paths, middleware=middleware, exception_handlers={HTTPException: _refused})
    made.state.service = service
    made.state.routes = routes
    made.router.redirect_slashes = False
    return made


async def _refused(request: Request, error: Exception) -> Response:
    """Answers a request for a path or a method that does not exist."""
    assert isinstance(error, HTTPException)
    path = request.url.path[:200]
    what = f"no such path: {path}" if error.status_code == 404 else f"{request.method} is no method of {path}"
    return error_response(HttpError(error.status_code, what, headers=error.headers))
