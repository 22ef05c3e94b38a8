"""`Meter`: ends the connection to a server that sends more than anybody can use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

MAX_MESSAGE = 4 << 20  # bytes
CLOSED = "the server closed the connection"
CAPACITY, PER_SECOND = 2000.0, 500.0
BYTES, GARBAGE = 65_536, 20.0  # bytes that cost as much as a message, and the cost of what is not JSON-RPC


class Meter:
    """Counts what a server sends against a budget that refills. `ended` is set once the connection is over.

    A message costs 1, and 1 for each 64 KB. The budget is 2,000, and 500 come back each second: far more
    than a server needs that answers, and less than a processor's time if it floods.

    Args:
        clock: Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.ended = asyncio.Event()
        self.reason = ""
        self._clock = clock
        self._left, self._at = CAPACITY, clock()
        self._garbage = 0

    def end(self, reason: str) -> None:
        """Notes that the connection is over, and why. The first reason stays."""
        if not self.ended.is_set():
            self.reason = reason
            self.ended.set()

    def explain(self, reason: str) -> None:
        """Ends the connection, or says why it ended if that was not known."""
        if self.reason in ("", CLOSED):
            self.reason = reason
        self.ended.set()

    def message(self) -> bool:
        """Counts a message. Returns False, and ends the connection, if that is too much."""
        return self._spend(1.0)

    def data(self, size: int) -> bool:
        """Counts bytes. Returns False, and ends the connection, if that is too much."""
        return self._spend(size / BYTES)

    def garbage(self) -> bool:
        """Counts what is not JSON-RPC. Returns False, and ends the connection, if that is too much."""
        self._garbage += 1
        return self._spend(GARBAGE)

    def _spend(self, cost: float) -> bool:
        now = self._clock()
        self._left = min(CAPACITY, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        self._left -= cost
        if self._left < 0:
            odd = f", of which {self._garbage} are not JSON-RPC" if self._garbage else ""
            self.end(f"it floods the connection with messages{odd}")
        return self._left >= 0 and not self.ended.is_set()
