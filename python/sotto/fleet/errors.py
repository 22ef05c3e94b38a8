"""Exceptions of the fleet's clients. No message, and no attribute, holds a token's secret."""

from __future__ import annotations


class InferenceKeyError(Exception):
    """Base class of the clients' errors.

    Attributes:
        status: HTTP status of the response; None if the error was found before one arrived.
        code: Machine-readable reason, such as "scope_insufficient"; None if the server sent none.
    """

    def __init__(self, message: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self._lost = False  # the connection ended before the response did
        self._retry: float | None = None  # seconds after which the server asks for the request again


class PermissionDenied(InferenceKeyError):
    """The credential may not perform the operation (403).

    `code` is "wrong_credential_type", "project_scope_mismatch" or "scope_insufficient".
    """


class AuthError(InferenceKeyError):
    """The credential is missing, unknown or revoked (401)."""


class ValidationError(InferenceKeyError):
    """An argument is invalid: found before a request was sent, or by the server (400)."""


class ConfigurationError(InferenceKeyError):
    """The client lacks a token, a project, a key or an address. No request was sent."""


class ApiError(InferenceKeyError):
    """Another error status, an invalid response, or a connection that failed."""


class ReadinessTimeout(InferenceKeyError, TimeoutError):
    """The workload was not ready within `timeout` seconds. Also the built-in `TimeoutError`."""
