"""The gateway: checks keys and quotas, and relays requests to workloads as bytes."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import anyio
import httpx2
from starlette.requests import Request
from starlette.responses import Response

from .. import _slug
from .._wire import BUSY
from ..enums import Backend, TaskType
from . import bodies, resuming
from .errors import Refusal
from .figures import Figures
from .instance import client
from .quotas import Grant, Quotas
from .relaying import Exchange, Relay, unreachable
from .resuming import Broken, Resumption
from .settings import ControlSettings
from .tokens import INFERENCE, Identity, Tokens
from .usage import Counts, UsageLog
from .workloads import Route, Workloads

log = logging.getLogger("sotto.fleet")
T = TypeVar("T")
ROUTES = frozenset(
    {
        "audio/speech", "audio/transcriptions", "audio/translations", "chat/completions", "completions",
        "embeddings", "images/background", "images/edits", "images/generations", "messages", "models",
        "rerank", "responses",
    }
)  # fmt: skip
_ASYNC_ONLY = {  # task types without a synchronous route, and the routes that they have all the same
    TaskType.RERANKER: frozenset({"rerank", "models"}),
    TaskType.CLASSIFICATION: frozenset({"models"}),
    TaskType.REWARD: frozenset({"models"}),
}
_PASSED = ("accept", "content-type", "x-session-id", "traceparent", "tracestate")
_LIMITED = ("chat/completions", "completions", "messages")  # whose answers `max_tokens` limits
_PAUSES = (0.05, 1.0)  # seconds between two looks for another replica: the first ones, and at most
_MAX_SESSION = 128  # characters of a session's name
_GONE = 499  # status in the log of a request whose client left


class Answer(NamedTuple):
    """A whole response of a workload."""

    status: int
    content_type: str
    body: bytes


class Gateway:
    """Relays requests of the data plane."""

    def __init__(
        self,
        tokens: Tokens,
        workloads: Workloads,
        quotas: Quotas,
        usage: UsageLog,
        figures: Figures,
        settings: ControlSettings,
    ) -> None:
        self._tokens, self._workloads, self._quotas = tokens, workloads, quotas
        self._usage, self._figures, self._settings = usage, figures, settings
        self._clients: dict[str, httpx2.AsyncClient] = {}
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
        self._check_route(route, path)
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
            self._figures.refused(identity.project, slug, told)
        return Relay(response, exchange, self._settings.timeout)

    async def admit(self, request: Request) -> tuple[Identity, Route]:
        """Returns who asks for which workload. Raises `Refusal` 401, 403 or 404."""
        identity = await self._tokens.identify(request.headers.get("authorization"))
        identity.require("live", INFERENCE, request.path_params["project"])
        slug = _slug.canonical(request.path_params["workload"])
        if identity.workload_slug not in (None, slug):
            raise Refusal(403, f"this key is not for workload '{slug}'", "project_scope_mismatch")
        return identity, await self._workloads.route(identity.project_id, slug)

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
        for one in self._clients.values():
            await one.aclose()

    def _check_route(self, route: Route, path: str) -> None:
        if path not in ROUTES:
            raise Refusal(404, f"no route '/v1/{path[:100]}': expected one of {', '.join(sorted(ROUTES))}")
        allowed = _ASYNC_ONLY.get(TaskType(route.task_type))
        if allowed is not None and path not in allowed:
            raise Refusal(
                400,
                f"task type '{route.task_type}' has no route '/v1/{path}': send a job to '/jobs'",
                "async_only",
            )

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
            raise _not_ready(route)
        if self._running >= self._settings.max_requests:
            raise Refusal(429, f"{self._running} requests run at once; try again later", retry=1)
        quotas = await self._quotas.applying(identity)
        limits_tokens = any(quota.metric == "tokens" for quota in quotas)
        fields = bodies.parse(body) if body and "json" in headers.get("content-type", "json") else {}
        body, reserved = self._prepared(route, path, body, fields, limits_tokens)
        grant = await self._quotas.take(quotas, reserved)
        passed = {name: headers[name] for name in _PASSED if name in headers}

        async def send(to: Route, content: bytes) -> httpx2.Response:
            http = self._client(to)
            upstream = http.build_request(method, f"/v1/{path}", content=content, headers=passed)
            return await http.send(upstream, stream=True)

        async def again(fields: dict[str, Any]) -> httpx2.Response:
            return await self._elsewhere(identity.project_id, slug, json.dumps(fields).encode(), send)

        resumed = self._settings.resume_timeout > 0 and resuming.applies(path, fields)
        self._running += 1
        self._figures.began(route.workload_id, _session(headers, fields))
        return Exchange(
            lambda: send(route, body),
            lambda counts, failed: self._end(identity, route, grant, counts, failed),
            Resumption(fields, again) if resumed else None,
        )

    def _client(self, route: Route) -> httpx2.AsyncClient:
        """Returns the connections to a workload."""
        assert route.address is not None
        found = self._clients.get(route.address)
        if found is None:
            found = self._clients[route.address] = client(route.address)
        return found

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

    def _prepared(
        self, route: Route, path: str, body: bytes, fields: Any, limits_tokens: bool
    ) -> tuple[bytes, int]:
        """Returns the body for the workload, and the tokens that the request may take."""
        if not isinstance(fields, dict):
            raise Refusal(400, "invalid body: expected a JSON object")
        changed = False
        if fields and route.backend != Backend.LLAMACPP and fields.get("model") != route.model:
            fields["model"], changed = route.model, True  # the name by which other engines know their model
        most = 0
        if limits_tokens and path in _LIMITED:
            given = fields.get("max_tokens", fields.get("max_completion_tokens"))
            whole = isinstance(given, int) and not isinstance(given, bool) and given >= 0
            if given is None:
                fields["max_tokens"], changed = self._settings.default_max_tokens, True
            most = int(given) if given is not None and whole else self._settings.default_max_tokens
        return (json.dumps(fields).encode() if changed else body), most + len(body) // 3

    def _end(self, identity: Identity, route: Route, grant: Grant, counts: Counts, failed: bool) -> None:
        self._running -= 1
        self._figures.ended(route.workload_id, counts.completion_tokens)
        self._quotas.settle(grant, sum(counts))
        self._usage.count(identity.project_id, route.workload_id, identity.token_id, counts, failed)


def _session(headers: Mapping[str, str], fields: Any) -> str | None:
    """Returns what names the session of a request; None: nothing does."""
    for found in (headers.get("x-session-id"), fields.get("prompt_cache_key"), fields.get("user")):
        if isinstance(found, str) and found:
            return found[:_MAX_SESSION]
    return None


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
