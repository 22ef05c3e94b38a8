"""`Connections`: HTTP clients of the processes of workloads, one for each address."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx2

from .instance import client


class Connections:
    """Clients by address. Each version of a workload has its own address, so unused ones are closed.

    Args:
        longest: Seconds that a request may take; a client that was not asked for longer has none that runs.
        clock: Returns seconds.
    """

    def __init__(self, longest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest, self._clock = longest, clock
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._asked: dict[str, float] = {}  # in order of time

    def __len__(self) -> int:
        return len(self._clients)

    async def to(self, address: str) -> httpx2.AsyncClient:
        """Returns the client of an address, for one request that begins now."""
        now = self._clock()
        self._asked.pop(address, None)
        self._asked[address] = now
        found = self._clients.get(address)
        if found is None:
            found = self._clients[address] = client(address)
            await self._close(now - self._longest)
        return found

    async def close(self) -> None:
        """Closes all clients."""
        await self._close(self._clock() + 1)

    async def _close(self, before: float) -> None:
        for address in [one for one, at in self._asked.items() if at < before]:
            del self._asked[address]
            await self._clients.pop(address).aclose()
