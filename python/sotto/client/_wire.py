"""What both clients send and how they judge a response: addresses, headers, bodies, errors, stream chunks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn
from urllib.parse import urlsplit

import httpcore2
import httpx2

from ..errors import ArgumentError
from .errors import ApiError, ClientError, DeadlineExceeded, TransportError

MAX_RESPONSE = 1 << 28  # bytes
MAX_ERROR = 1 << 20  # bytes of an error's body
MAX_EVENT = 1 << 24  # bytes of one event of a stream
RETRY_WAITS = (0.1, 0.3)  # seconds before a connection is tried again
_MAX_TIMEOUT = 1e7  # seconds
_MAX_MESSAGE = 2000  # characters of a server's message
_MIN_SECRET = 4  # characters of a key that is looked for in the server's messages
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_TIMEOUTS = (httpx2.TimeoutException, httpcore2.TimeoutException, TimeoutError)
_FAILURES = (
    httpx2.TransportError,
    httpx2.DecodingError,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    OSError,
)
UNSENT = (httpx2.ConnectError, httpcore2.ConnectError)  # no byte of the request was sent


class Endpoint:
    """Address, key and time limit of a server. Its repr, and the errors that it raises, omit the key."""

    def __init__(self, base_url: str, api_key: str | None, timeout: float, verify_ssl: bool) -> None:
        self.base_url = _address(base_url)
        self.timeout = seconds("timeout", timeout)
        if not isinstance(verify_ssl, bool):
            raise ArgumentError(f"invalid verify_ssl '{verify_ssl!r}': expected True or False")
        self.verify_ssl = verify_ssl
        self._api_key = _key(api_key)

    @property
    def encrypted(self) -> bool:
        """True if the server is reached over TLS."""
        return self.base_url.startswith("https:")

    def headers(self) -> dict[str, str]:
        """Returns the headers of every request."""
        headers = {"Accept-Encoding": "identity", "User-Agent": "sotto-client"}
        if self._api_key is not None:
            headers["Authorization"] = f"Bearer {self._api_key}"
        return headers

    def fail(self, request: str, status: int, raw: bytes) -> NoReturn:
        """Raises the `ApiError` for an error status."""
        text = raw.decode("utf-8", "replace")
        try:
            body = self.without_key(json.loads(text))
        except (ValueError, RecursionError):
            body = self._hide(text)
        self.fail_with(request, status, body)

    def fail_with(self, request: str, status: int, body: Any) -> NoReturn:
        """Raises the `ApiError` for a parsed error body, in any of the forms that servers use."""
        found = body.get("error", body) if isinstance(body, dict) else body
        message, kind = found, ""
        if isinstance(found, dict):
            message = found.get("message") or found.get("detail") or json.dumps(found)
            kind = found.get("type") or ""
        raise ApiError(
            request, status, body, self._plain(message) or "no message", self._plain(kind)
        ) from None

    def without_key(self, value: Any) -> Any:
        """Returns a JSON value whose strings do not hold the key."""
        if isinstance(value, dict):
            return {self._hide(name): self.without_key(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.without_key(one) for one in value]
        return self._hide(value) if isinstance(value, str) else value

    @contextmanager
    def failures(self, request: str, limit: float) -> Iterator[None]:
        """Turns the exceptions of httpx2 into those of the client."""
        try:
            yield
        except ClientError:
            raise
        except _TIMEOUTS as error:
            raise DeadlineExceeded(
                f"{request}: {self.base_url} did not complete the response within {limit:g} s"
            ) from error
        except _FAILURES as error:
            reason = self._plain(str(error)) or type(error).__name__
            raise TransportError(f"{request}: {self.base_url}: {reason}") from error

    def _hide(self, text: str) -> str:
        key = self._api_key
        return text.replace(key, "[api_key]") if key and len(key) >= _MIN_SECRET else text

    def _plain(self, value: object) -> str:
        text = self._hide(_CONTROL.sub(" ", str(value))).strip()
        return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}..."


class Chunks:
    """Parses the events of a stream into its chunks, and notes its end."""

    def __init__(self, endpoint: Endpoint, request: str) -> None:
        self._endpoint, self.request = endpoint, request
        self._finished = False  # a chunk said that the answer is complete
        self.done = False  # [DONE] has arrived

    def read(self, data: str) -> dict[str, Any] | None:
        """Returns the chunk of one event; None for an event that holds none.

        Raises:
            ApiError: The event is an error.
        """
        if data.strip() == "[DONE]":
            self.done = True
            return None
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if not isinstance(chunk, dict):
            return None
        if "error" in chunk and not chunk.get("choices"):
            self._raise(chunk)
        choices = chunk.get("choices")
        ends = isinstance(choices, list) and any(
            isinstance(one, dict) and one.get("finish_reason") for one in choices
        )
        self._finished |= ends or chunk.get("stop") is True
        return chunk

    def failures(self, limit: float) -> AbstractContextManager[None]:
        """Turns the exceptions of httpx2 into those of the client."""
        return self._endpoint.failures(self.request, limit)

    def end(self) -> None:
        """Raises `TransportError` if the connection ended before the answer did."""
        if not (self.done or self._finished):
            raise TransportError(f"{self.request}: the stream ended before the answer was complete")

    def _raise(self, chunk: dict[str, Any]) -> NoReturn:
        error = chunk["error"]
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and not isinstance(code, bool) else 500
        self._endpoint.fail_with(self.request, status, self._endpoint.without_key(chunk))


def encode(body: Any) -> bytes | None:
    """Returns a request body as JSON; None for None.

    Raises:
        ArgumentError: A value is not JSON, or a number is NaN or infinite.
    """
    if body is None:
        return None
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"invalid {_culprit(body)}: expected a JSON value ({error})") from error


def fields(named: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a body: `named` without those that are None, overridden by `others`."""
    return {**{name: value for name, value in named.items() if value is not None}, **others}


def listed(value: str | list[str] | None) -> list[str] | None:
    """Returns a list of one for a string."""
    return [value] if isinstance(value, str) else value


def seconds(name: str, value: float, zero: bool = False) -> float:
    """Returns a duration in seconds. Raises `ArgumentError` if it is not one."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not 0 <= value <= _MAX_TIMEOUT or (value == 0 and not zero):
        least = "0 or more" if zero else "more than 0"
        raise ArgumentError(
            f"invalid {name} '{value!r}': expected seconds, {least}, at most {_MAX_TIMEOUT:g}"
        )
    return float(value)


def slot_path(slot_id: int, action: str) -> str:
    """Returns the path of an action on a slot. Raises `ArgumentError` for an invalid `slot_id`."""
    if not isinstance(slot_id, int) or isinstance(slot_id, bool) or slot_id < 0:
        raise ArgumentError(f"invalid slot_id '{slot_id!r}': expected 0 or more; see slots.list()")
    return f"/slots/{slot_id}?action={action}"


def _culprit(body: Any) -> str:
    for name, value in body.items() if isinstance(body, dict) else ():
        try:
            json.dumps({name: value}, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return f"field '{name}'"
    return "body"


def _address(base_url: str) -> str:
    expected = "expected http://HOST[:PORT][/PATH] or https://..., such as http://127.0.0.1:8080"
    if not isinstance(base_url, str):
        raise ArgumentError(f"invalid base_url of type '{type(base_url).__name__}': {expected}")
    try:
        parts = urlsplit(base_url)
        credentials, host = "@" in parts.netloc, parts.hostname
        _ = parts.port, httpx2.URL(base_url)
    except (ValueError, httpx2.InvalidURL):
        raise ArgumentError(f"invalid base_url: {expected}") from None
    if credentials:
        raise ArgumentError(f"invalid base_url with credentials: {expected}; pass the key as api_key")
    if re.search(r"[\s\x00-\x1f\x7f]", base_url) or parts.scheme not in ("http", "https") or not host:
        raise ArgumentError(f"invalid base_url '{_CONTROL.sub(' ', base_url)[:200]}': {expected}")
    if parts.query or parts.fragment:
        raise ArgumentError(f"invalid base_url '{base_url[:200]}': {expected}, without a query or fragment")
    return base_url.rstrip("/")


def _key(api_key: str | None) -> str | None:
    if api_key is None or (isinstance(api_key, str) and re.fullmatch(r"[\x21-\x7e]+", api_key)):
        return api_key
    raise ArgumentError("invalid api_key: expected visible ASCII without spaces, or None for no key")
