"""One script for both kinds of clients: those for asyncio run on an event loop that waits for each call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import sotto.fleet as fleet

SDK = "ik_sdk_01234567_" + "a" * 64
LIVE = "ik_live_89abcdef_" + "b" * 64


class Face:
    """The blocking clients."""

    management: Any = fleet.ManagementClient
    data: Any = fleet.DataClient

    def __init__(self) -> None:
        self._made: list[Any] = []

    def client(self, url: str, project: str | None = "acme", **more: Any) -> Any:
        """Returns a client of the control plane."""
        return self.keep(self.management(base_url=url, sdk_token=SDK, project=project, **more))

    def endpoint(self, url: str, slug: str = "smith", key: str = LIVE) -> Any:
        """Returns an endpoint."""
        return self.keep(self.data(base_url=url, project="acme", api_key=key)).endpoint(slug)

    def keep(self, client: Any) -> Any:
        """Closes a client after the test."""
        self._made.append(client)
        return client

    def sleeps(self, client: Any) -> list[float]:
        """Replaces the waits between reconnections. Returns the list that receives their durations."""
        waits: list[float] = []
        client._connection.sleep = waits.append
        return waits

    def __enter__(self) -> Face:
        return self

    def __exit__(self, *exc: object) -> None:
        for one in self._made:
            one.close()


class AsyncFace(Face):
    """The clients for asyncio."""

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self.management = lambda **given: self.wrap(fleet.AsyncManagementClient(**given))
        self.management.from_env = lambda **given: self.wrap(fleet.AsyncManagementClient.from_env(**given))
        self.data = lambda **given: self.wrap(fleet.AsyncDataClient(**given))
        self.data.from_env = lambda **given: self.wrap(fleet.AsyncDataClient.from_env(**given))

    def wrap(self, value: Any) -> Any:
        """Returns an object whose coroutines are run to their end."""
        return _Blocking(value, self._runner)

    def sleeps(self, client: Any) -> list[float]:
        waits: list[float] = []

        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        client._value._connection.sleep = sleep
        return waits

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self._runner.close()


class _Blocking:
    def __init__(self, value: Any, runner: asyncio.Runner) -> None:
        self._value, self._runner = value, runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._value, name)
        return self._call(found) if callable(found) else found

    def __repr__(self) -> str:
        return repr(self._value)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._runner.run(_awaited(self._value.__anext__()))
        except StopAsyncIteration:
            raise StopIteration from None

    def _call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            result = function(*given, **named)
            if inspect.isawaitable(result):
                result = self._runner.run(_awaited(result))
            wrapped = hasattr(result, "__anext__") or type(result).__name__ == "AsyncEndpoint"
            return _Blocking(result, self._runner) if wrapped else result

        return call


async def _awaited(value: Any) -> Any:
    return await value


FACES: dict[str, type[Face]] = {"blocking": Face, "asyncio": AsyncFace}
