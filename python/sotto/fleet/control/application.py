"""`app()`: the control plane and the gateway as an ASGI application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ...server.logs import AccessLog
from ...server.page import page
from .. import _slug
from . import bodies, readiness
from .errors import Refusal
from .housekeeping import nodes_of
from .overview import PAGE
from .service import Service
from .store import why
from .tokens import DELETE, READ, WRITE, Identity
from .usage import totals
from .workloads import record

log = logging.getLogger("sotto.fleet")
Endpoint = Callable[[Request, Service], Awaitable[Response]]
_FULL = ("disk is full", "No space left", "could not extend")  # words of SQLite and PostgreSQL
_LOOK = 0.05  # seconds between two looks whether a workload has stopped


def app(service: Service) -> Starlette:
    """Returns a control plane as an ASGI application, which others can mount.

    The application neither starts nor stops the service.
    """
    routes = [
        ("GET", "/", _page),
        ("GET", "/health", _health),
        ("GET", "/api/overview", _overview),
        ("GET", "/api/projects/{project}/workloads", _list),
        ("POST", "/api/projects/{project}/workloads", _create),
        ("GET", "/api/projects/{project}/workloads/{slug}", _show),
        ("GET", "/api/projects/{project}/workloads/{slug}/readiness-events", _readiness),
        ("GET", "/api/projects/{project}/usage", _usage),
        ("GET", "/api/projects/{project}/nodes", _nodes),
        ("GET", "/api/workloads/{id}", _get),
        ("PATCH", "/api/workloads/{id}", _change),
        ("DELETE", "/api/workloads/{id}", _delete),
        ("POST", "/endpoint/{project}/{workload}/jobs", _job),
        ("GET", "/endpoint/{project}/{workload}/v1/{path:path}", _relay),
        ("POST", "/endpoint/{project}/{workload}/v1/{path:path}", _relay),
    ]
    made = Starlette(
        routes=[
            Route(path, _guarded(endpoint, service), methods=[method]) for method, path, endpoint in routes
        ],
        middleware=[Middleware(AccessLog, count=lambda method, path, status: None)],
        exception_handlers={HTTPException: _refused},
    )
    made.state.service = service
    made.router.redirect_slashes = False
    return made


def _guarded(endpoint: Endpoint, service: Service) -> Callable[[Request], Awaitable[Response]]:
    """Returns an endpoint with its exceptions as responses.

    A request that is cancelled ends by itself: a transaction that is cancelled may keep its lock.
    """

    async def run(request: Request) -> Response:
        try:
            return await asyncio.shield(asyncio.ensure_future(endpoint(request, service)))
        except Refusal as error:
            refusal = error
        except (SQLAlchemyError, OSError) as error:
            log.warning("%s %s: %s", request.method, request.url.path, why(error))
            refusal = _without_store(error)
        except Exception:
            log.exception("%s %s failed", request.method, request.url.path)
            refusal = Refusal(500, "the control plane failed to answer this request; its log has the reason")
        names = request.path_params
        if "project" in names:
            workload = names.get("workload") or names.get("slug") or ""
            service.refusals.add(names["project"], workload, refusal)
        return refusal.response()

    return run


def _without_store(error: Exception) -> Refusal:
    """Returns the refusal of a request that needs the store."""
    if any(words in why(error) for words in _FULL):
        return Refusal(
            503, "the disk of the control plane's store is full; nothing is lost, make room there", retry=5
        )
    return Refusal(503, "the store of the control plane cannot be reached", retry=1)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path[:200]
    what = f"no such path: {path}" if error.status_code == 404 else f"{request.method} is no method of {path}"
    return Refusal(error.status_code, what).response()


async def _page(request: Request, service: Service) -> Response:
    text, headers = page(PAGE)
    return Response(text, media_type="text/html; charset=utf-8", headers=headers)


async def _overview(request: Request, service: Service) -> Response:
    identity = await service.tokens.identify(request.headers.get("authorization"))
    identity.require("sdk", READ, identity.project)
    return JSONResponse(await service.overview.of(identity), headers={"Cache-Control": "no-store"})


async def _health(request: Request, service: Service) -> Response:
    return JSONResponse({"status": "ok", "reconciles": service.reconciler.leads})


async def _identity(request: Request, service: Service, scope: str) -> Identity:
    """Returns who asks for a path of a project. Raises `Refusal` 401 or 403."""
    identity = await service.tokens.identify(request.headers.get("authorization"))
    identity.require("sdk", scope, request.path_params["project"])
    return identity


async def _body(request: Request, service: Service) -> object:
    limit, seconds = service.settings.max_spec_bytes, service.settings.body_timeout
    return bodies.parse(await bodies.read(request, limit, seconds))


async def _list(request: Request, service: Service) -> Response:
    identity = await _identity(request, service, READ)
    return JSONResponse([record(one) for one in await service.workloads.all(identity.project_id)])


async def _create(request: Request, service: Service) -> Response:
    identity = await _identity(request, service, WRITE)
    made, new = await service.workloads.create(identity.project_id, await _body(request, service))
    return JSONResponse(record(made), 201 if new else 200)


async def _show(request: Request, service: Service) -> Response:
    identity = await _identity(request, service, READ)
    slug = _slug.canonical(request.path_params["slug"])
    return JSONResponse(record(await service.workloads.by_slug(identity.project_id, slug)))


async def _readiness(request: Request, service: Service) -> Response:
    identity = await _identity(request, service, READ)
    slug = _slug.canonical(request.path_params["slug"])
    workload = await service.workloads.by_slug(identity.project_id, slug)
    texts = readiness.events(service.workloads, service.changes, workload, service.settings.ping)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_until_store_fails(texts), media_type="text/event-stream", headers=headers)


async def _until_store_fails(texts: AsyncIterator[str]) -> AsyncIterator[str]:
    """Ends a stream when the store is down; clients connect again."""
    try:
        async for text in texts:
            yield text
    except (SQLAlchemyError, OSError) as error:
        log.warning("a stream of readiness ends: %s", why(error))


async def _usage(request: Request, service: Service) -> Response:
    await _identity(request, service, READ)
    await service.usage.flush()
    return JSONResponse(await totals(service.store, request.path_params["project"]))


async def _nodes(request: Request, service: Service) -> Response:
    await _identity(request, service, READ)
    names = ("id", "cores", "memory", "gpus", "version", "seen_at")
    found = await nodes_of(service.store)
    return JSONResponse([{name: getattr(node, name) for name in names} for node in found])


async def _own(request: Request, service: Service, scope: str) -> str:
    """Returns the id of the workload that a path names, of the asking project. Raises `Refusal`."""
    identity = await service.tokens.identify(request.headers.get("authorization"))
    identity.require("sdk", scope, identity.project)
    workload = await service.workloads.get(request.path_params["id"])
    if workload.project_id != identity.project_id:
        raise Refusal(403, "this workload is of another project", "project_scope_mismatch")
    return workload.id


async def _get(request: Request, service: Service) -> Response:
    return JSONResponse(record(await service.workloads.get(await _own(request, service, READ))))


async def _change(request: Request, service: Service) -> Response:
    id = await _own(request, service, WRITE)
    return JSONResponse(record(await service.workloads.change(id, await _body(request, service))))


async def _delete(request: Request, service: Service) -> Response:
    """Marks a workload as deleted, and waits a while until nothing of it is left."""
    id = await _own(request, service, DELETE)
    await service.workloads.delete(id)
    end = asyncio.get_running_loop().time() + service.settings.delete_wait
    while asyncio.get_running_loop().time() < end and not await service.workloads.is_gone(id):
        await asyncio.sleep(_LOOK)
    return Response(status_code=204)


async def _job(request: Request, service: Service) -> Response:
    identity, route = await service.gateway.admit(request)
    limit, seconds = service.settings.max_body_bytes, service.settings.body_timeout
    body = bodies.parse(await bodies.read(request, limit, seconds))
    return JSONResponse({"job_id": await service.jobs.submit(identity, route, body)}, 202)


async def _relay(request: Request, service: Service) -> Response:
    return await service.gateway.answer(request)
