"""Errors as HTTP responses: the status, the type and the message, in the form of llama.cpp and OpenAI."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..errors import SottoError, Status

RETRY = "1"  # seconds after which a client may ask again

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    415: "invalid_request_error",
    429: "rate_limit_error",
    500: "server_error",
    501: "not_supported_error",
    503: "unavailable_error",
}
_STATUSES = {
    Status.ARGUMENT: 400,
    Status.UNSUPPORTED: 501,
    Status.MEMORY: 503,
    Status.BUDGET: 503,
    Status.STATE: 400,
    Status.NOT_FOUND: 404,
    Status.CANCELLED: 503,
    Status.BUSY: 429,
    Status.DEVICE: 503,
    Status.BLOCKED: 400,
}

_TOO_LONG = re.compile(r"^the prompt has (?:more than )?(\d+) tokens, but the model's context holds (\d+)")


class HttpError(Exception):
    """A response with an error status.

    Attributes:
        status: HTTP status, 400 to 599.
        type: Kind of error, such as "invalid_request_error".
        message: What is wrong, and the way out.
        headers: Further headers of the response.
        more: Further fields of the JSON object `error`.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        type: str | None = None,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        message = message.encode("utf-8", "replace").decode()  # a lone surrogate cannot be sent
        super().__init__(message)
        self.status = status
        self.type = type or _TYPES.get(status, "server_error")
        self.message = message
        self.headers = dict(headers or {})
        if status in (429, 503):
            self.headers.setdefault("Retry-After", RETRY)
        if status == 501:
            self.headers.setdefault("x-should-retry", "false")  # which the official clients honour
        self.more = dict(more or {})


def to_http(error: Exception) -> HttpError:
    """Returns the response for an exception of the engine. Others become status 500 without details."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, SottoError):
        if found := _TOO_LONG.search(str(error)):
            counted = {"n_prompt_tokens": int(found[1]), "n_ctx": int(found[2])}
            return HttpError(400, str(error), type="exceed_context_size_error", more=counted)
        kind = "content_filter" if error.status == Status.BLOCKED else None
        return HttpError(_STATUSES.get(error.status, 500), str(error), type=kind)
    return HttpError(500, "the server failed to answer this request; its log has the reason")


def error_object(error: HttpError) -> dict[str, Any]:
    """Returns the body of an error as llama.cpp and OpenAI write it."""
    return {"error": {"code": error.status, "message": error.message, "type": error.type, **error.more}}


def error_text(error: HttpError) -> str:
    """Returns `error_object()` as JSON."""
    return json.dumps(error_object(error), ensure_ascii=False)
