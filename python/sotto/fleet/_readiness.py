"""Waits for a workload: reads readiness events, decides on reconnection, and keeps the time limit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from time import monotonic
from typing import Any

from ._wire import plain, seconds
from .errors import ApiError, ReadinessTimeout
from .types import ReadinessEvent

READY, ERROR = "ready", "error"
WAITS = (1.0, 2.0, 4.0, 5.0)  # seconds before each reconnection; the last one repeats
_TRANSIENT = frozenset({408, 425, 429})  # below 500: other statuses would be met again
_STEP = re.compile(r"[a-z0-9_.-]{1,64}")
_MAX_TEXT = 300  # characters of a message


class Wait:
    """One wait for one workload, free of I/O.

    Attributes:
        slug: The workload.
        end: Point in time at which the wait fails, on the clock `monotonic`.
    """

    def __init__(self, slug: str, timeout: float, report: Callable[[ReadinessEvent], None]) -> None:
        self.slug = slug
        self._timeout = seconds("timeout", timeout)
        self._report = report
        self._start = monotonic()
        self.end = self._start + self._timeout
        self._connected_ms = 0  # when the present connection was opened, since the start
        self._last_ms = 0
        self._attempts = 0
        self._connections = 0
        self._reason = "the control plane reported no progress"

    def left(self) -> float:
        """Returns the seconds that are left. Raises `ReadinessTimeout` if there are none."""
        left = self.end - monotonic()
        if left <= 0:
            raise self.late()
        return left

    def late(self) -> ReadinessTimeout:
        """Returns the error of a wait that took too long."""
        return ReadinessTimeout(
            f"workload '{self.slug}' was not ready within {self._timeout:g} s: {self._reason}"
        )

    def connected(self) -> None:
        """Notes that a connection was opened."""
        if self._connections:
            self._connected_ms = round((monotonic() - self._start) * 1000)
        self._connections += 1

    def take(self, data: str) -> bool:
        """Reports the event of a connection. Returns True if the workload is ready.

        Raises:
            ApiError: The workload failed.
        """
        event = self._event(data)
        if event is None:
            return False
        self._attempts = 0
        self._reason = f"{event.phase}: {event.message}"
        self._report(event)
        if event.phase == ERROR:
            raise ApiError(f"workload '{self.slug}' failed to become ready: {event.message}", code="error")
        return event.phase == READY

    def pause(self, error: ApiError | None = None) -> float:
        """Returns the seconds to wait before the next connection.

        Args:
            error: Why the connection failed; None if it ended.

        Raises:
            ApiError: `error`, if a further connection would meet it too.
            ReadinessTimeout: The time is over.
        """
        self.left()
        if error is not None:
            unreachable = not self._connections and error.status is None
            final = error.status is not None and error.status < 500 and error.status not in _TRANSIENT
            if final or unreachable:
                raise error
            self._reason = str(error)
        wait = WAITS[min(self._attempts, len(WAITS) - 1)]
        self._attempts += 1
        return min(wait, self.left())

    def _event(self, data: str) -> ReadinessEvent | None:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or not isinstance(found.get("phase"), str):
            return None
        return ReadinessEvent(
            plain(found["phase"])[:64],
            plain(str(found.get("message") or ""))[:_MAX_TEXT],
            self._elapsed(found.get("elapsed_ms")),
            _step(found.get("step")),
        )

    def _elapsed(self, value: Any) -> int:
        valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
        own = (monotonic() - self._start) * 1000
        told = self._connected_ms + int(value) if valid else round(own)
        self._last_ms = max(self._last_ms, told)
        return self._last_ms


def _step(value: Any) -> str | None:
    return value if isinstance(value, str) and _STEP.fullmatch(value) else None
