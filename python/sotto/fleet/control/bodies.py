"""Reads bodies of requests within their limits."""

from __future__ import annotations

import json
from typing import Any

import anyio
from starlette.requests import ClientDisconnect, Request

from .errors import Refusal


async def read(request: Request, limit: int, seconds: float) -> bytes:
    """Returns the body of a request.

    Raises:
        Refusal: 413: it is longer than `limit` bytes. 408: it did not arrive in time. 400: the client left.
    """
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise Refusal(413, f"the body has {length} bytes: expected at most {limit}")
    data = bytearray()
    try:
        with anyio.fail_after(seconds):
            async for piece in request.stream():
                data += piece
                if len(data) > limit:
                    raise Refusal(413, f"the body is too long: expected at most {limit} bytes")
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {seconds:g} s") from None
    except ClientDisconnect:
        raise Refusal(400, "the client closed the connection") from None
    return bytes(data)


def parse(body: bytes) -> Any:
    """Returns a body as JSON. Raises `Refusal` 400 if it is not JSON."""
    try:
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"invalid body: expected JSON ({str(error)[:200]})") from None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
