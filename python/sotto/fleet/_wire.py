"""What the fleet's clients send and how they judge a response; free of I/O, shared by the asyncio twins."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import quote, urlsplit

import httpcore2
import httpx2

from . import _tokens
from .errors import (
    ApiError,
    AuthError,
    ConfigurationError,
    InferenceKeyError,
    PermissionDenied,
    ValidationError,
)

DEFAULT_BASE_URL = "https://api.inferencekey.com"
MAX_RESPONSE = 1 << 28  # bytes
MAX_EVENT = 1 << 24  # bytes of one event of a stream
CONTROL_TIMEOUT, DATA_TIMEOUT = 60.0, 600.0  # seconds for a whole request
PATIENCE = 60.0  # seconds in which a replica has to take up an answer that was lost
BUSY = (502, 503)  # statuses of a workload that no replica serves now
_MAX_MESSAGE = 2000  # characters of a server's message
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_FAILURES = (
    httpx2.TransportError,
    httpx2.DecodingError,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    OSError,  # TimeoutError is one
)

T = TypeVar("T")


class Call(NamedTuple):
    """A request: method, path after the address, and JSON body."""

    method: str
    path: str
    body: Any = None

    def content(self) -> bytes | None:
        """Returns the body. Raises `ValidationError` if it is not JSON."""
        if self.body is None:
            return None
        try:
            return json.dumps(self.body, allow_nan=False).encode("ascii")
        except (TypeError, ValueError, RecursionError) as error:
            raise ValidationError(f"invalid argument: expected JSON values ({error})") from None


class Reply(NamedTuple):
    """A response: HTTP status, body, and the seconds after which the server asks for the request again."""

    status: int
    content: bytes
    retry: float | None = None


Steps = Generator[Call, Reply, T]  # yields requests, is sent their responses, returns the result


class Credential:
    """A token that is sent as a bearer token. Its repr omits the secret.

    Args:
        token: The token.
        kind: `_tokens.SDK` or `_tokens.LIVE`.
        parameter: Name of the argument that holds it, for errors.

    Raises:
        ConfigurationError: `token` is blank, or cannot be sent in a header.
    """

    def __init__(self, token: str | None, kind: str, parameter: str) -> None:
        if not isinstance(token, str) or not token.strip():
            variable = "INFERENCEKEY_SDK_TOKEN" if kind == _tokens.SDK else "INFERENCEKEY_API_KEY"
            raise ConfigurationError(
                f"invalid {parameter}: expected an {kind} token; pass {parameter}= or set {variable}"
            )
        self._token, self._kind, self._parameter = token.strip(), kind, parameter
        if not re.fullmatch(r"[\x21-\x7e]+", self._token):
            raise ConfigurationError(f"invalid {parameter}: expected visible ASCII without spaces")

    def header(self) -> dict[str, str]:
        """Returns the header of a request.

        Raises:
            PermissionDenied: The token is of the other plane.
        """
        other = _tokens.LIVE if self._kind == _tokens.SDK else _tokens.SDK
        if self._token.startswith(other):
            raise PermissionDenied(
                f"permission denied [wrong_credential_type]: {self._parameter} is {self}; "
                f"expected an {self._kind} token",
                status=None,
                code="wrong_credential_type",
            )
        return {"Authorization": f"Bearer {self._token}"}

    def hide(self, text: str) -> str:
        """Returns a text without the token's secret."""
        return _tokens.redacted(text.replace(self._token, str(self)))

    def __str__(self) -> str:
        found = _tokens.redacted(self._token)
        return found if found != self._token else "[token]"

    def __repr__(self) -> str:
        return f"Credential({self})"


def address(base_url: str | None) -> str:
    """Returns the address of a control plane without a slash at its end.

    Raises:
        ConfigurationError: `base_url` is no http or https address.
    """
    expected = "expected http://HOST[:PORT] or https://HOST[:PORT]"
    text = base_url.strip() if isinstance(base_url, str) else ""
    try:
        parts = urlsplit(text)
        _ = parts.port, httpx2.URL(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except (ValueError, httpx2.InvalidURL):
        valid = False
    if not valid or parts.query or parts.fragment or "@" in parts.netloc or re.search(r"\s", text):
        raise ConfigurationError(f"invalid base_url '{_plain(_tokens.redacted(text))[:200]}': {expected}")
    return text.rstrip("/")


def from_environment(explicit: str | None, name: str, default: str | None = None) -> str | None:
    """Returns `explicit`, else the environment variable unless it is empty, else the default."""
    return explicit if explicit is not None else os.environ.get(name) or default


def segment(text: str) -> str:
    """Returns a text as one segment of a path."""
    return quote(text, safe="")


def project_of(*candidates: str | None) -> str:
    """Returns the first project that is set; the last resort is INFERENCEKEY_PROJECT.

    Raises:
        ConfigurationError: None is set, or it cannot be part of an address.
    """
    for found in (*candidates, os.environ.get("INFERENCEKEY_PROJECT")):
        if found is not None and not isinstance(found, str):
            raise ConfigurationError(f"invalid project of type '{type(found).__name__}': expected a string")
        if found is not None and found.strip():
            if found.strip() in (".", ".."):
                raise ConfigurationError(f"invalid project '{found}': expected a slug, such as 'acme'")
            return found.strip()
    raise ConfigurationError("no project: pass project= or set INFERENCEKEY_PROJECT")


def parsed(call: Call, reply: Reply) -> Any:
    """Returns the JSON of a response. Raises `ApiError` if it is not JSON."""
    if not reply.content.strip():
        return None
    try:
        return json.loads(reply.content)
    except (ValueError, RecursionError):
        raise ApiError(
            f"{call.method} {call.path}: invalid response: expected JSON", status=reply.status
        ) from None


def fail(call: Call, reply: Reply, credential: Credential) -> NoReturn:
    """Raises the error for an error status."""
    code, message = _reason(reply)
    error = error_of(call, reply.status, code, credential.hide(message))
    error._retry = reply.retry
    raise error


def error_of(call: Call, status: int, code: str | None, message: str) -> InferenceKeyError:
    """Returns the error of a status. `code`: the server's reason; `message`: its text."""
    text = message if code is None or code in message else f"{message} [{code}]"
    if status == 403:
        return PermissionDenied(
            f"permission denied [{code or 'forbidden'}]: {message}", status=status, code=code
        )
    kind, what = _ERRORS.get(status, (ApiError, f"{call.method} {call.path}: HTTP {status}"))
    return kind(f"{what}: {text}", status=status, code=code)


def retry_of(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds after which a server asks for a request again; None: it does not say."""
    if headers.get("x-should-retry") == "false":
        return math.inf
    given = headers.get("retry-after", "")
    return float(given) if given.isascii() and given.isdecimal() else None


_ERRORS: dict[int, tuple[type[InferenceKeyError], str]] = {
    400: (ValidationError, "bad request"),
    401: (AuthError, "authentication failed"),
    404: (ApiError, "not found"),
}


def _reason(reply: Reply) -> tuple[str | None, str]:
    """Returns code and message of an error body: {"error": code}, {"error": {"code", "message"}}, or text."""
    text = reply.content.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    code: Any = None
    message: Any = text
    if isinstance(body, dict):
        code, message = reason(body)
    return code, _plain(str(message)) or "no message"


def reason(body: dict[str, Any]) -> tuple[str | None, str]:
    """Returns code and message of an error object, in both forms that servers use."""
    found = body.get("error", body)
    if isinstance(found, dict):
        code = found.get("code") or found.get("type")
        message = found.get("message") or code or json.dumps(found)
    else:
        code = body.get("code") or found
        message = body.get("message") or found
    plain = isinstance(code, str) and re.fullmatch(r"[a-z0-9_.-]{1,64}", code)
    return (code if plain else None), str(message)


@contextmanager
def failures(call: Call, base_url: str, credential: Credential, limit: float) -> Iterator[None]:
    """Turns the exceptions of httpx2 into `ApiError`."""
    try:
        yield
    except InferenceKeyError:
        raise
    except _FAILURES as error:
        late = isinstance(error, (httpx2.TimeoutException, httpcore2.TimeoutException, TimeoutError))
        why = f"no complete response within {limit:g} s" if late else str(error) or type(error).__name__
        made = ApiError(f"{call.method} {call.path}: {base_url}: {credential.hide(_plain(why))}")
        made._lost = not late
        raise made from error


def seconds(name: str, value: float) -> float:
    """Returns a duration in seconds, more than 0. Raises `ValidationError` for another value."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not 0 < value <= 1e7:
        raise ValidationError(f"invalid {name} '{value!r}': expected seconds, more than 0")
    return float(value)


def _plain(text: str) -> str:
    made = _CONTROL.sub(" ", text).strip()
    return made if len(made) <= _MAX_MESSAGE else f"{made[:_MAX_MESSAGE]}..."


plain = _plain
