"""Receives the body of an HTTP response within a limit."""

from __future__ import annotations

from typing import Any


class TooLarge(Exception):
    """A response is larger than its limit."""


async def receive(response: Any, most: int) -> bytes:
    """Returns the body of a streamed response of `httpx2`, at most `most` bytes.

    Raises:
        TooLarge: The body is larger.
        httpx2.HTTPError: The transfer broke off.
    """
    data = bytearray()
    async for part in response.aiter_bytes():
        data += part
        if len(data) > most:
            raise TooLarge(f"more than {most} bytes")
    return bytes(data)
