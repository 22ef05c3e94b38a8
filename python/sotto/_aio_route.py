"""The requests of `aio.Route`, and how their chunks become one answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from ._aio_streams import TokenStream
from ._routing import Relay


async def relay_chunks(relay: Relay, heard: Heard) -> AsyncIterator[str]:
    """Yields the chunks of an answer."""
    try:
        relay.begin()
        while not relay.done:
            try:
                attempt, what = await asyncio.wait_for(heard.get(), relay.patience)
            except asyncio.TimeoutError:
                relay.ask_next()
            else:
                for chunk in relay.hear(attempt, what):
                    yield chunk
    finally:
        relay.close()


class Attempt:
    """One model's answer, which a task of its own receives."""

    def __init__(self, body: dict[str, Any], stream: TokenStream, heard: Heard) -> None:
        self.body = body
        self.held: list[str] = []
        self._stream = stream
        self._task = asyncio.ensure_future(self._run(heard))

    async def _run(self, heard: Heard) -> None:
        try:
            async for chunk in self._stream:
                heard.put_nowait((self, chunk))
            heard.put_nowait((self, None))
        except Exception as error:
            heard.put_nowait((self, error))

    def close(self) -> None:
        """Cancels the answer."""
        self._task.cancel()
        self._stream._end()


Heard = asyncio.Queue[tuple[Attempt, str | Exception | None]]
