"""Conversations that the engine stores, over HTTP; and the header that names one for a router."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .._ops import Op
from ..errors import SottoError, Status
from .answering import complete
from .asking import parse, read_text
from .errors import HttpError
from .gate import respond
from .routing import Route, service_of
from .shapes import Shape

HEADER = "x-session-id"
_ID = re.compile(r"[A-Za-z0-9._~:@-]{1,128}")
_RULE = "expected 1 to 128 letters, digits, or characters of ._~:@-"
_OPEN = ("session", "model", "messages", "system", "pinned", "lora", "from", "keep", "tokens")
_CHANGE = ("system", "pinned", "lora")
_EDIT = ("action", "turns", "keep", "from", "to", "to_session", "delta")


def checked_id(given: object) -> str:
    """Returns the id of a session. Raises `HttpError` 400 if it cannot stand in a path."""
    if not isinstance(given, str) or not _ID.fullmatch(given) or given in (".", ".."):
        shown = given if isinstance(given, str) else json.dumps(given)
        raise HttpError(400, f"invalid session '{shown[:140]}': {_RULE}")
    return given


async def _open(request: Request) -> Response:
    """Opens a session, or copies one."""
    service = service_of(request)
    body = _fields(await read_text(request, service), _OPEN)
    body["session"] = checked_id(body.get("session") or f"session-{os.urandom(8).hex()}")
    if "from" in body:
        checked_id(body["from"])
    elif not isinstance(body.get("model"), str | None):
        raise HttpError(400, f"invalid model '{json.dumps(body['model'])[:100]}': expected a string")
    else:
        body["model"] = service.resolve(body.get("model"))
        if "tokens" not in body:
            body.setdefault("messages", [])
    try:
        told = await complete(request, service, "open_session", json.dumps(body))
    except SottoError as error:
        if error.status == Status.STATE:  # the id is in use
            raise HttpError(409, str(error)) from None
        raise
    location = f"{request.url.path}/{body['session']}"
    return Response(told, 201, media_type="application/json", headers={"Location": location})


async def _list(request: Request) -> Response:
    """Lists the open sessions."""
    return _json(await complete(request, service_of(request), "read_session", "{}"))


async def _read(request: Request) -> Response:
    """Returns the messages, or the tokens, of a session."""
    return _json(await _about(request, "read_session"))


async def _change(request: Request) -> Response:
    """Changes the system message of a session, pins it, or sets its adapters."""
    body = _fields(await read_text(request, service_of(request)), _CHANGE)
    if not body:
        raise HttpError(400, f"missing fields: expected one of {', '.join(_CHANGE)}")
    return _json(await _about(request, "change_session", **body))


async def _edit(request: Request) -> Response:
    """Drops the last turns of a session, or edits a token session."""
    body = _fields(await read_text(request, service_of(request)), _EDIT)
    if "to_session" in body:
        checked_id(body["to_session"])
    return _json(await _about(request, "edit_session", **body))


async def _close(request: Request) -> Response:
    """Closes a session and deletes its messages."""
    await _about(request, "close_session")
    return JSONResponse({"object": "session", "session": request.path_params["session"], "deleted": True})


async def _about(request: Request, op: Op, **fields: Any) -> str:
    """Runs an operation on the session of the path."""
    body = {**fields, "session": checked_id(request.path_params["session"])}
    return await complete(request, service_of(request), op, json.dumps(body))


def _fields(text: str, known: tuple[str, ...]) -> dict[str, Any]:
    """Returns the fields of a body. Raises `HttpError` 400 for others."""
    fields = parse(text).fields
    for name in fields:
        if name not in known:
            raise HttpError(400, f"unknown field '{name[:100]}': expected {', '.join(known)}")
    return {name: value for name, value in fields.items() if value is not None}


def _json(told: str) -> Response:
    return Response(told, media_type="application/json")


class SessionHeader:
    """Returns the header `x-session-id` of a request with its response.

    Routers before several servers read it to send the requests of one conversation to one server, whose KV
    cache has it. The server itself does nothing with it: the session of a chat is in its body.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on; answers an invalid header with status 400."""
        given = Headers(scope=scope).get(HEADER) if scope["type"] == "http" else None
        if given is None:
            await self._app(scope, receive, send)
            return
        if not _ID.fullmatch(given):
            await respond(HttpError(400, f"invalid header {HEADER}: {_RULE}"), send, Shape())
            return
        await self._app(scope, receive, _carrying(given, send))


def _carrying(session: str, send: Send) -> Callable[[Message], Awaitable[None]]:
    header = (HEADER.encode(), session.encode())

    async def carrying(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), header]}
        await send(message)

    return carrying


ROUTES = (
    Route("POST", ("/v1/sessions",), _open),
    Route("GET", ("/v1/sessions",), _list),
    Route("GET", ("/v1/sessions/{session}",), _read),
    Route("PATCH", ("/v1/sessions/{session}",), _change),
    Route("POST", ("/v1/sessions/{session}/edit",), _edit),
    Route("DELETE", ("/v1/sessions/{session}",), _close),
)
