"""Part of `AsyncLlamaCppClient`: health, properties and metrics of the server."""

# Written from `_sync/server.py` by tests/python/client_twin.py; do not edit.

from __future__ import annotations

from typing import Any

from ..._deadline import Deadline
from .. import _read
from .._wire import seconds
from ..errors import ClientError
from ..types import HealthStatus
from .transport import AsyncTransport


class AsyncServerCalls:
    """Endpoints about the server itself."""

    _transport: AsyncTransport

    async def health(self) -> HealthStatus:
        """Returns the state of the server. Status 503 is the state "loading" and not an error.

        Raises:
            ApiError: The server answered with another error status.
            TransportError: The server cannot be reached.
        """
        return await self._health(self._transport.endpoint.timeout)

    async def is_ready(self) -> bool:
        """Returns True if the state is "ok"; False for another state, an error, or a server out of reach."""
        return await self._is_ready(self._transport.endpoint.timeout)

    async def wait_until_ready(self, timeout: float = 60.0, poll_interval: float = 1.0) -> bool:
        """Waits until the server is ready.

        Args:
            timeout: Longest wait in seconds. 0 returns False at once.
            poll_interval: Time between two checks in seconds.

        Returns:
            True if the server became ready in time.
        """
        limit = Deadline(seconds("timeout", timeout, zero=True))
        pause = seconds("poll_interval", poll_interval)
        while limit.left() > 0:
            if await self._is_ready(min(limit.left(), self._transport.endpoint.timeout)):
                return True
            if (left := limit.left()) <= 0:
                break
            await self._transport.sleep(min(pause, left))
        return False

    async def props(self) -> dict[str, Any]:
        """Returns the properties of the server.

        Among them: `default_generation_settings`, `total_slots`, `model_path`, `chat_template`, `modalities`
        and `is_sleeping`.
        """
        return _read.mapping(await self._transport.send("GET", "/props"))

    async def set_props(self, **kwargs: Any) -> dict[str, Any]:
        """Changes properties of the server, which must have been started with `--props`.

        Args:
            **kwargs: Properties and their values.

        Raises:
            ApiError: The server does not permit it (status 501).
        """
        return _read.mapping(await self._transport.send("POST", "/props", kwargs))

    async def metrics(self) -> str:
        """Returns the metrics in Prometheus' text form; the server must have been started with `--metrics`.

        Raises:
            ApiError: The server does not export metrics (status 501).
        """
        return (await self._transport.send("GET", "/metrics")).text()

    async def _health(self, timeout: float) -> HealthStatus:
        accept = (200, 503)
        return _read.health(
            await self._transport.send("GET", "/health", accept=accept, retry=False, timeout=timeout)
        )

    async def _is_ready(self, timeout: float) -> bool:
        try:
            state = await self._health(timeout)
        except ClientError:
            return False
        return state.status == "ok"
