"""Streamed answers for asyncio."""

from __future__ import annotations

import weakref

from ._aio import Request as _Request
from ._handle import Unique
from .completion import Delta, read_delta


class TokenStream(Unique):
    """Iterates over an answer's OpenAI chunks, each a JSON string.

    Closing the stream, or deleting the last reference to it, cancels the rest of the answer.
    """

    def __init__(self, request: _Request) -> None:
        self._request = request
        self._end = weakref.finalize(self, request.drop)

    def __aiter__(self) -> TokenStream:
        return self

    async def __anext__(self) -> str:
        try:
            while self._end.alive and (event := await self._request.next()).kind != "request_done":
                if event.json:
                    return event.json
        except BaseException:
            self._end()
            raise
        self._end()
        raise StopAsyncIteration

    def set_target_tps(self, tps: float) -> bool:
        """Sets the pace in tokens per second from the next token on; 0: the engine's.

        Returns:
            False if the answer has ended.
        """
        return self._request.set_target_tps(tps)

    async def __aenter__(self) -> TokenStream:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancels the rest of the answer. A second call does nothing."""
        self._end()


class DeltaStream(Unique):
    """Iterates over the `Delta`s of an answer. Closing or deleting the stream cancels the rest."""

    def __init__(self, chunks: TokenStream) -> None:
        self._chunks = chunks

    def __aiter__(self) -> DeltaStream:
        return self

    async def __anext__(self) -> Delta:
        return read_delta(await self._chunks.__anext__())

    def set_target_tps(self, tps: float) -> bool:
        """Sets the pace, as `TokenStream.set_target_tps()` does. Returns False if the answer has ended."""
        return self._chunks.set_target_tps(tps)

    async def __aenter__(self) -> DeltaStream:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancels the rest of the answer. A second call does nothing."""
        await self._chunks.aclose()
