"""`sotto.routing.Route` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from ._desc import Json
from ._routing import Policy, Relay, Settings, content_of
from ._typing import Unpack
from .terms import RequestOptions

if TYPE_CHECKING:
    from .aio import Engine


class Route:
    """`sotto.routing.Route` for asyncio, with the same policies, chunks and errors.

    >>> route = sotto.aio.Route(engine, "sotto/house", "studio::qwen3", policy="remote_first", patience=1.5)
    >>> print(await route.text({"messages": [{"role": "user", "content": "Good evening."}]}))
    """

    def __init__(
        self,
        engine: Engine,
        local: str,
        remote: str,
        *,
        policy: Policy = "local_first",
        patience: float = 0,
    ) -> None:
        self._engine = engine
        self._settings = Settings(local, remote, policy, patience)

    def stream(self, request: Json, **terms: Unpack[RequestOptions]) -> AsyncIterator[str]:
        """Yields the OpenAI chunks of an answer, as `sotto.routing.Route.stream()` does.

        Closing the iterator (`aclose()`), or cancelling the task that awaits it, cancels all requests.
        """
        heard: _Heard = asyncio.Queue()
        relay = self._settings.relay(request, terms, lambda body: _Attempt(self._engine, body, terms, heard))
        return _run(relay, heard)

    async def text(self, request: Json, **terms: Unpack[RequestOptions]) -> str:
        """Returns the content of an answer, as `stream()` yields it, once it is complete."""
        return "".join([content_of(chunk) async for chunk in self.stream(request, **terms)])


async def _run(relay: Relay, heard: _Heard) -> AsyncIterator[str]:
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


class _Attempt:
    """One model's answer, which a task of its own receives."""

    def __init__(self, engine: Engine, body: dict[str, Any], terms: RequestOptions, heard: _Heard) -> None:
        self.body = body
        self.held: list[str] = []
        self._stream = engine.llm_chat_completion_stream(body, **terms)
        self._task = asyncio.ensure_future(self._run(heard))

    async def _run(self, heard: _Heard) -> None:
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


_Heard = asyncio.Queue[tuple[_Attempt, str | Exception | None]]
