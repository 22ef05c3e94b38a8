"""Exceptions of the client. No message, and no attribute, holds the API key."""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """Base class of the client's errors."""


class ApiError(ClientError):
    """The server answered with an error status, or with a response that is malformed.

    Attributes:
        status: HTTP status of the response; for an error inside a stream, its `code`.
        body: Body of the response: parsed JSON, or text if it is not JSON.
        message: The server's message.
        type: The server's error type, such as "invalid_request_error"; empty if it sent none.
    """

    def __init__(self, request: str, status: int, body: Any, message: str, type: str = "") -> None:
        kind = f" ({type})" if type else ""
        super().__init__(f"{request}: HTTP {status}{kind}: {message}")
        self._request = request
        self.status = status
        self.body = body
        self.message = message
        self.type = type

    def __reduce__(self) -> tuple[Any, ...]:
        return ApiError, (self._request, self.status, self.body, self.message, self.type)


class DeadlineExceeded(ClientError, TimeoutError):
    """The whole response did not arrive within `timeout` seconds. Also a `TimeoutError`."""


class TransportError(ClientError, ConnectionError):
    """The server cannot be reached, or the connection broke off. Also a `ConnectionError`."""
