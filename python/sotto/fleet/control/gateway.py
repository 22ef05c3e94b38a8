"""The gateway: checks keys and quotas, and relays requests to workloads as bytes."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import anyio
import httpx2
from starlette.requests import Request
from starlette.responses import Response

from .. import _slug
from .._wire import BUSY
from . import bodies, resuming
from .admission import Admission, Admitted, check_route
from .connections import Connections
from .errors import Refusal
from .refusals import Refusals
from .relaying import Exchange, Relay, unreachable
from .resuming import Broken, Resumption
from .settings import ControlSettings
from .tokens import Identity
from .usage import Tail
from .workloads import Route, Workloads

log = logging.getLogger("sotto.fleet")
T = TypeVar("T")
_PASSED = ("accept", "content-type", "x-session-id", "traceparent", "tracestate")
_PAUSES = (0.05, 1.0)  # seconds between two looks for another replica: the first ones, and at most
_GONE = 499  # status in the log of a request whose client left


class Answer(NamedTuple):
    """A whole response of a workload."""

    status: int
    content_type: str
    body: bytes


class Gateway:
    """Relays requests of the data plane."""

    def __init__(
        self, admission: Admission, workloads: Workloads, refusals: Refusals, settings: ControlSettings
    ) -> None:
        self._admission, self._workloads = admission, workloads
        self._refusals, self._settings = refusals, settings
        self._connections = Connections(settings.timeout + 2 * settings.resume_timeout + 60)
        self._running = 0

    @property
    def running(self) -> int:
        """Number of requests that run."""
        return self._running

    async def answer(self, request: Request) -> Response:
        """Answers `/endpoint/{project}/{workload}/v1/{path}`.

        Raises:
            Refusal: The key, the workload, the route or the body is not accepted.
        """
        identity, route = await self.admit(request)
        path = request.path_params["path"]
        check_route(route, path)
        body = await bodies.read(request, self._settings.max_body_bytes, self._settings.body_timeout)
        slug = _slug.canonical(request.path_params["workload"])
        route = await self._workloads.route(identity.project_id, slug)  # again: the body may have taken long
        headers = dict(request.headers)
        exchange = await self._begin(identity, slug, route, path, request.method, body, headers)
        try:
            response = await _unless_gone(request, exchange.send())
        except BaseException as error:
            await exchange.end(failed=True)
            if isinstance(error, ClientGone):
                return Response(status_code=_GONE)
            raise
        if response.status_code >= 400:
            told = Refusal(response.status_code, "the workload answered with this status", "workload")
            self._refusals.add(identity.project, slug, told)
        return Relay(response, exchange, self._settings.timeout)

    async def admit(self, request: Request) -> tuple[Identity, Route]:
        """Returns who asks for which workload. Raises `Refusal` 401, 403 or 404."""
        project, slug = request.path_params["project"], request.path_params["workload"]
        identity = await self._admission.identify(request.headers.get("authorization"), project, slug)
        return identity, await self._workloads.route(identity.project_id, _slug.canonical(slug))

    async def complete(
        self, identity: Identity, slug: str, route: Route, path: str, body: bytes, content_type: str
    ) -> Answer:
        """Sends a request to a workload and returns the whole response; for jobs, which have every route."""
        exchange = await self._begin(
            identity, slug, route, path, "POST", body, {"content-type": content_type}
        )
        failed = True
        try:
            with anyio.fail_after(self._settings.timeout):
                response = await exchange.send()
                data = bytearray()
                async for piece in exchange.pieces():
                    data += piece
            failed = response.status_code >= 400
            return Answer(response.status_code, response.headers.get("content-type", ""), bytes(data))
        except TimeoutError:
            raise Refusal(504, f"the workload did not answer within {self._settings.timeout:g} s") from None
        except Broken as error:
            raise Refusal(502, str(error)) from None
        finally:
            await exchange.end(failed=failed)

    async def close(self) -> None:
        """Closes all connections to workloads."""
        await self._connections.close()

    async def _begin(
        self,
        identity: Identity,
        slug: str,
        route: Route,
        path: str,
        method: str,
        body: bytes,
        headers: dict[str, str],
    ) -> Exchange:
        """Takes what a request needs of quotas, and prepares it."""
        if route.address is None:
            self._admission.missed(route)
            raise _not_ready(route)
        if self._running >= self._settings.max_requests:
            raise Refusal(429, f"{self._running} requests run at once; try again later", retry=1)
        admitted = await self._admission.take(identity, route, path, body, headers)
        passed = {name: headers[name] for name in _PASSED if name in headers}

        async def send(to: Route, content: bytes) -> httpx2.Response:
            assert to.address is not None
            http = await self._connections.to(to.address)
            upstream = http.build_request(method, f"/v1/{path}", content=content, headers=passed)
            return await http.send(upstream, stream=True)

        async def again(fields: dict[str, Any]) -> httpx2.Response:
            return await self._elsewhere(identity.project_id, slug, json.dumps(fields).encode(), send)

        fields = admitted.fields
        resumed = self._settings.resume_timeout > 0 and resuming.applies(path, fields)
        self._running += 1
        return Exchange(
            lambda: send(route, admitted.body),
            Tail(admitted.measured.wrote),
            lambda answer, failed: self._end(admitted, answer, failed),
            Resumption(fields, again) if resumed else None,
        )

    async def _elsewhere(
        self,
        project_id: str,
        slug: str,
        content: bytes,
        send: Callable[[Route, bytes], Awaitable[httpx2.Response]],
    ) -> httpx2.Response:
        """Sends a request until a replica of a workload accepts it.

        Raises:
            Refusal: 503: none did in time. 404: the workload was deleted.
        """
        pause, most = _PAUSES
        end = asyncio.get_running_loop().time() + self._settings.resume_timeout
        while True:
            await asyncio.sleep(pause)
            pause = min(2 * pause, most)
            route = await self._workloads.route(project_id, slug)
            late = asyncio.get_running_loop().time() >= end
            if route.address is not None:
                with suppress(httpx2.TransportError, OSError):
                    response = await send(route, content)
                    if late or response.status_code not in BUSY:
                        return response
                    await response.aclose()
            elif late or route.phase == "error":
                raise _not_ready(route)
            if late:
                raise unreachable()

    def _end(self, admitted: Admitted, answer: Tail, failed: bool) -> None:
        self._running -= 1
        self._admission.settle(admitted, answer, failed=failed)


def _not_ready(route: Route) -> Refusal:
    message = f"the workload is not ready: {route.phase}: {route.message}"
    if route.phase == "error":
        return Refusal(503, message, "not_ready", final=True)
    return Refusal(503, message, "not_ready", 2)


class ClientGone(Exception):
    """The client closed its connection."""


async def _unless_gone(request: Request, work: Awaitable[T]) -> T:
    """Returns the result of `work`; cancels it and raises `ClientGone` if the client leaves before."""
    running = asyncio.ensure_future(work)

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    watching = asyncio.ensure_future(watch())
    try:
        await asyncio.wait([running, watching], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return running.result()
        running.cancel()
        with suppress(asyncio.CancelledError, Refusal):
            await running
        raise ClientGone
    finally:
        watching.cancel()
        running.cancel()
