"""`Admitting`: an ASGI application that checks keys and quotas before another one answers."""

from __future__ import annotations

import logging

import anyio
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..control import bodies
from ..control.admission import Admission, Admitted, check_route
from ..control.errors import Refusal
from ..control.settings import ControlSettings
from ..control.store import why
from ..control.usage import Tail
from ..control.workloads import Route

log = logging.getLogger("sotto.fleet")
_OPEN = frozenset({"/health", "/ready"})  # for the health checks of ingresses
_ROOT = "/v1/"


class Admitting:
    """Answers the requests of one workload that have a key of its project.

    Args:
        app: Answers requests that are admitted. It counts tokens in `usage` or `timings` of its answers.
        admission: Checks keys and quotas.
        project: Slug of the project.
        workload: Slug of the workload.
        route: The workload.
        settings: Limits of bodies and times.

    Attributes:
        running: Number of requests that are being answered.
    """

    def __init__(
        self,
        app: ASGIApp,
        admission: Admission,
        project: str,
        workload: str,
        route: Route,
        settings: ControlSettings,
    ) -> None:
        self.running = 0
        self._app, self._admission, self._settings = app, admission, settings
        self._project, self._workload, self._route = project, workload, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http" or scope["path"] in _OPEN:
            await self._app(scope, receive, send)
            return
        self.running += 1
        try:
            await self._answer(scope, receive, send)
        finally:
            self.running -= 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            admitted = await self._admit(request)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send)
            return
        except (SQLAlchemyError, OSError) as error:
            log.warning("the store cannot be reached: %s", why(error))
            down = Refusal(503, "the store cannot be reached, and this key is not known here", None, 1)
            await down.response()(scope, receive, send)
            return
        answer = _Answer(send, Tail(admitted.measured.wrote))
        try:
            with anyio.move_on_after(self._settings.timeout):
                await self._app(*_replayed(scope, receive, admitted.body), answer.send)
        finally:
            self._admission.settle(admitted, answer.tail, failed=not answer.succeeded)

    async def _admit(self, request: Request) -> Admitted:
        """Raises `Refusal` if a request may not run."""
        authorization = request.headers.get("authorization")
        identity = await self._admission.identify(authorization, self._project, self._workload)
        if not request.url.path.startswith(_ROOT):
            raise Refusal(404, f"replicas answer '{_ROOT}...' alone; the control plane takes jobs")
        path = request.url.path.removeprefix(_ROOT)
        check_route(self._route, path)
        body = await bodies.read(request, self._settings.max_body_bytes, self._settings.body_timeout)
        return await self._admission.take(identity, self._route, path, body, request.headers)


class _Answer:
    """What an application sends, counted on its way.

    Attributes:
        succeeded: True once a whole response without an error status was sent.
        tail: Receives the bytes of the response, unless it has an error status.
    """

    def __init__(self, send: Send, tail: Tail) -> None:
        self.succeeded, self.tail = False, tail
        self._send, self._status = send, 0

    async def send(self, message: Message) -> None:
        """Sends a message of ASGI."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
        elif message["type"] == "http.response.body" and self._status < 400:
            self.tail.add(message.get("body", b""))
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.succeeded = self._status < 400


def _replayed(scope: Scope, receive: Receive, body: bytes) -> tuple[Scope, Receive]:
    """Returns a request with a body that was read; then what the client does, which is to leave."""
    length = (b"content-length", str(len(body)).encode())
    others = [one for one in scope["headers"] if one[0] not in (b"content-length", b"transfer-encoding")]
    unread = True

    async def again() -> Message:
        nonlocal unread
        if unread:
            unread = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return {**scope, "headers": [*others, length]}, again
