"""`First`: an answer whose first part is waited for before it is read."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ..completion import Delta
from .ports import Deltas


class First:
    """The parts of an answer. `begin()` waits for the first, and raises if the request is refused."""

    def __init__(self, deltas: Deltas) -> None:
        self._deltas = deltas
        self._parts = deltas.__aiter__()
        self._first: list[Delta] = []
        self._ended = False

    async def begin(self) -> None:
        """Waits for the first part."""
        try:
            self._first = [await self._parts.__anext__()]
        except StopAsyncIteration:
            self._ended = True
        except BaseException:
            await self.aclose()
            raise

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        if self._first:
            return self._first.pop()
        if self._ended:
            raise StopAsyncIteration
        return await self._parts.__anext__()

    async def aclose(self) -> None:
        """Cancels the rest of the answer."""
        await self._deltas.aclose()
