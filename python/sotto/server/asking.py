"""Reads requests: their body within its limits, and the fields that are the server's own."""

from __future__ import annotations

import json
import math
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from starlette.requests import ClientDisconnect, Request

from ..terms import PRIORITIES, RequestOptions
from .errors import HttpError
from .service import Service

_DISCARDED = 256 << 20  # bytes of a body that is too large, up to which it is read and dropped
_TERMS = ("priority", "deadline_ms", "target_tps")  # fields that are no part of the engine's requests


@dataclass
class Asked:
    """The body of a request.

    Attributes:
        fields: The JSON object.
        text: The same as text, as the client sent it, where nothing had to be changed.
        options: Pace, priority and deadline.
        stream: Whether the answer is a stream.
    """

    fields: dict[str, Any]
    text: str
    options: RequestOptions
    stream: bool

    def change(self, **fields: Any) -> None:
        """Sets fields of the body."""
        self.fields.update(fields)
        self.text = json.dumps(self.fields)


async def read_asked(request: Request, service: Service) -> Asked:
    """Reads a request for an answer; sets its `model` to the id of a loaded model.

    A request of a session without a model keeps that of the session. The name of a LoRA adapter stands for
    its model with this adapter, as inference gateways expect.

    Raises:
        HttpError: 400, 404, 408, 413 or 415: the message names what is wrong.
    """
    text = await read_text(request, service)
    asked = parse(text)
    model = asked.fields.get("model")
    if model is not None and not isinstance(model, str):
        raise HttpError(400, f"invalid model: expected a string, not {json.dumps(model)[:100]}")
    if model is None and asked.fields.get("session") is not None:
        return asked  # the session has its model
    if (adapted := service.adapted(model)) is not None and "lora" not in asked.fields:
        asked.change(model=adapted, lora=[{"name": model}])
        return asked
    found = service.resolve(model)
    if found != model:
        asked.change(model=found)
    return asked


async def read_text(request: Request, service: Service) -> str:
    """Reads the body of a request as text. Raises `HttpError` 400, 408, 413 or 415."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind in ("multipart/form-data", "application/octet-stream") or kind.startswith(("image/", "audio/")):
        raise HttpError(415, f"invalid content type '{kind}': expected application/json")
    try:
        return (await read_body(request, service)).decode()
    except UnicodeDecodeError as error:
        raise HttpError(400, f"invalid body: byte {error.start} is not valid UTF-8") from None


async def read_body(request: Request, service: Service) -> bytes:
    """Reads the body of a request. Raises `HttpError` 408 or 413."""
    with arriving(service):
        return b"".join([part async for part in bounded(request, service)])


@contextmanager
def arriving(service: Service) -> Iterator[None]:
    """Context in which a body is read. Raises `HttpError` 408 or 400 if it arrives late or in part."""
    waited = service.settings.body_timeout
    try:
        with anyio.fail_after(waited):
            yield
    except TimeoutError:
        raise HttpError(408, f"the body did not arrive within {waited:g} seconds") from None
    except ClientDisconnect:
        raise HttpError(400, "the client left before the body was complete") from None


async def bounded(request: Request, service: Service) -> AsyncGenerator[bytes, None]:
    """Yields the parts of a body as they arrive. Raises `HttpError` 413 if they are too much."""
    limit = service.settings.max_body_bytes
    too_large = HttpError(413, f"the body is too large: this server takes {limit:,} bytes")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        await _discard(request, int(length))
        raise too_large
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise too_large
        yield part


async def _discard(request: Request, length: int) -> None:
    """Reads a body that is too large, if it is short, so that a client that sends first hears why."""
    if length <= _DISCARDED and "expect" not in request.headers:
        async for _ in request.stream():
            pass


def parse(text: str) -> Asked:
    """Parses the body of a request. Raises `HttpError` 400."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HttpError(400, f"invalid body: {error or 'nested too deeply'}") from None
    if not isinstance(fields, dict):
        raise HttpError(400, f"invalid body: expected a JSON object, not {text[:60]!r}")
    stream = fields.get("stream")
    if stream is not None and not isinstance(stream, bool):
        raise HttpError(400, f"invalid stream '{json.dumps(stream)[:100]}': expected true or false")
    asked = Asked(fields, text, _options(fields), bool(stream))
    if any(name in fields for name in _TERMS):
        for name in _TERMS:
            fields.pop(name, None)
        asked.change()
    return asked


def _options(fields: Mapping[str, Any]) -> RequestOptions:
    """Returns pace, priority and deadline of a request."""
    options: RequestOptions = {}
    if (priority := fields.get("priority")) is not None:
        if not isinstance(priority, str) or priority not in PRIORITIES:
            raise _invalid("priority", priority, " or ".join(f'"{name}"' for name in PRIORITIES))
        options["priority"] = priority  # type: ignore[typeddict-item]
    if (deadline := fields.get("deadline_ms")) is not None:
        options["deadline"] = time.monotonic() + _number("deadline_ms", deadline, 1e12) / 1000
    if (pace := fields.get("target_tps")) is not None:
        options["target_tps"] = _number("target_tps", pace, 1e9)
    return options


def _number(name: str, value: object, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _invalid(name, value, "a number")
    if not math.isfinite(value) or not 0 <= value <= most:
        raise _invalid(name, value, f"a number from 0 to {most:g}")
    return float(value)


def _invalid(name: str, value: object, expected: str) -> HttpError:
    return HttpError(400, f"invalid {name} '{json.dumps(value)[:100]}': expected {expected}")
