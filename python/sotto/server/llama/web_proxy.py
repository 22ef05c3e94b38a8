"""`/cors-proxy`: passes requests of a web page on to MCP servers that admit no other origins."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ...errors import ArgumentError
from ..asking import read_body
from ..errors import HttpError
from ..routing import Endpoint, Route, service_of
from .native import LlamaShape

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger("sotto.server")
_SHAPE = LlamaShape()
_PREFIX = "x-llama-server-proxy-header-"  # of the headers that are passed on
_MAX_REQUESTS = 64  # under way at once
_CONNECT_TIMEOUT = 10.0  # seconds
_OF_CONNECTION = frozenset(  # headers that belong to one connection
    (
        "connection", "content-length", "host", "keep-alive", "proxy-authenticate", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    )
)  # fmt: skip
_OF_ORIGIN = frozenset({"server", "date", "set-cookie"})  # headers that this server sends, or must not


def routes(is_enabled: bool) -> tuple[Route, ...]:
    """Returns the routes. They answer 403 unless `is_enabled`, as those of tools always do.

    Raises:
        ArgumentError: `is_enabled`, and a package is missing.
    """
    if is_enabled:
        _require()
    proxy = _proxy() if is_enabled else _disabled("start the server with --ui-mcp-proxy")
    tools = _disabled("call tools in the client; this server runs none")
    return (
        Route("GET", ("/cors-proxy",), proxy, _SHAPE),
        Route("POST", ("/cors-proxy",), proxy, _SHAPE),
        Route("GET", ("/tools",), tools, _SHAPE),
        Route("POST", ("/tools",), tools, _SHAPE),
    )


def _require() -> None:
    try:
        import httpx2  # noqa: F401
    except ImportError:
        raise ArgumentError(
            "--ui-mcp-proxy needs the package httpx2: install sotto-runtime[client] (Python 3.11 or later)"
        ) from None


def _disabled(way_out: str) -> Endpoint:
    async def refuse(request: Request) -> Response:
        raise HttpError(403, f"this feature is disabled: {way_out}", type="feature_disabled")

    return refuse


def _proxy() -> Endpoint:
    running = 0

    async def passed_on(request: Request) -> Response:
        nonlocal running
        service = service_of(request)
        target = _target(request.query_params.get("url", ""))
        headers = _headers(request.headers)
        body = await read_body(request, service) if request.method == "POST" else b""
        if running >= _MAX_REQUESTS:
            raise HttpError(429, f"too many requests: {running} are being passed on; ask again later")
        running += 1

        def ended() -> None:
            nonlocal running
            running -= 1

        return await _Exchange(service.settings.timeout, ended).answer(request.method, target, headers, body)

    return passed_on


def _target(url: str) -> httpx2.URL:
    """Returns the address that a request names. Raises `HttpError` 400."""
    import httpx2

    try:
        target = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise HttpError(400, f"invalid url '{url[:100]}': {error}") from None
    if target.scheme not in ("http", "https") or not target.host:
        raise HttpError(400, f"invalid url '{url[:100]}': expected http://HOST/... or https://HOST/...")
    if target.userinfo:
        raise HttpError(400, f"invalid url: expected none with a password; send {_PREFIX}authorization")
    return target


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers that a request asks to pass on. The key of this server is never among them."""
    named = {
        name.lower().removeprefix(_PREFIX): value
        for name, value in given.items()
        if name.lower().startswith(_PREFIX)
    }
    kept = {name: value for name, value in named.items() if name and name not in _OF_CONNECTION}
    return {"accept": "*/*", "accept-encoding": "identity", "user-agent": "sotto", **kept}


class _Exchange:
    """One request to another server. Calls `ended` once when the exchange is over."""

    def __init__(self, timeout: float, ended: Any) -> None:
        import httpx2

        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout, connect=_CONNECT_TIMEOUT), trust_env=False, follow_redirects=False
        )
        self._response: httpx2.Response | None = None
        self._ended = ended

    async def answer(
        self, method: str, target: httpx2.URL, headers: Mapping[str, str], body: bytes
    ) -> Response:
        """Returns the response of the other server. Raises `HttpError` 502 or 504."""
        import httpx2

        try:
            request = self._http.build_request(method, target, headers=headers, content=body or None)
            self._response = await self._http.send(request, stream=True)
        except BaseException as error:
            await self._close()
            where = f"{target.scheme}://{target.host}"
            if isinstance(error, httpx2.TimeoutException):
                raise HttpError(504, f"{where} did not answer in time") from None
            if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL | ValueError):
                raise HttpError(502, f"cannot reach {where}: {type(error).__name__}") from None
            raise
        kept = {
            name: value
            for name, value in self._response.headers.items()
            if name not in _OF_CONNECTION | _OF_ORIGIN and not name.startswith("access-control-")
        }
        return _Passed(self._response, kept, self._close)

    async def _close(self) -> None:
        ended, self._ended = self._ended, lambda: None
        ended()
        with anyio.CancelScope(shield=True):
            if self._response is not None:
                await self._response.aclose()
            await self._http.aclose()


class _Passed(StreamingResponse):
    """The response of another server, part by part. Closes the connection however the response ends."""

    def __init__(
        self, given: httpx2.Response, headers: Mapping[str, str], close: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(given.aiter_raw(), given.status_code, headers)
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response. A connection that breaks in between ends it early."""
        import httpx2

        try:
            await super().__call__(scope, receive, send)
        except httpx2.HTTPError as error:
            log.warning("the server behind /cors-proxy broke off: %s", type(error).__name__)
            raise OSError("the other server broke off") from None
        finally:
            await self._close()
