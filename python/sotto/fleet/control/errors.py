"""Refusals as HTTP responses, in a form that the fleet's clients and OpenAI's read."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from .. import _tokens

_CODES = {
    400: "invalid_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "request_too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
    500: "internal_error",
    502: "bad_gateway",
    503: "unavailable",
    504: "gateway_timeout",
}


class Refusal(Exception):
    """A response with an error status. The message holds no token.

    Args:
        status: HTTP status.
        message: Why, for people.
        code: Why, for programs; None: that of the status.
        retry: Seconds after which the request may be sent again.
        final: Whether to tell clients that would send a request of this status again not to.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        retry: int | None = None,
        *,
        final: bool = False,
    ) -> None:
        super().__init__(_tokens.redacted(message))
        self.status = status
        self.code = code or _CODES.get(status, "error")
        self.retry, self.final = retry, final

    def body(self) -> dict[str, Any]:
        """Returns the JSON body. `error` is the code for status 403, as clients expect, else the text."""
        text = str(self).encode("utf-8", "replace").decode()  # a lone surrogate cannot be sent
        return {"error": self.code if self.status == 403 else text, "code": self.code, "message": text}

    def response(self) -> Response:
        """Returns the response."""
        headers = {"Cache-Control": "no-store"}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if self.retry is not None:
            headers["Retry-After"] = str(self.retry)
        if self.final:
            headers["X-Should-Retry"] = "false"
        return JSONResponse(self.body(), self.status, headers=headers)


def invalid(name: str, value: object, expected: str) -> Refusal:
    """Returns the refusal of a field's value."""
    return Refusal(400, f"invalid {name} '{str(value)[:100]}': expected {expected}")
