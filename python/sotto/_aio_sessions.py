"""Sessions and KV cache states of `aio.Engine`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from . import engine as blocking
from ._aio import Request
from ._desc import Json
from ._handle import Unique
from ._json import load
from ._sessions import lora_body, pin_body
from ._typing import Unpack
from ._values import string
from .adapters import Lora
from .completion import Completion, read_completion
from .errors import SottoError, Status
from .session import sizes_of
from .state import file_body, memory_body, session_body, with_state
from .terms import RequestOptions
from .token_session import copy_body, cut_body, shift_body, tokens_of, turn_body
from .token_session import open_body as open_tokens_body

Self = TypeVar("Self", bound="StoredSession")


class StoredSession(Unique):
    """What `aio.Session` and `aio.TokenSession` have in common."""

    def __init__(self, engine: Any, session_id: str) -> None:
        self._engine = engine
        self.id = string("session_id", session_id)

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def set_lora(self, lora: Sequence[Lora]) -> None:
        """Sets the LoRA adapters of later turns, as `sotto.Session.set_lora()` does."""
        await self._engine._ask("change_session", lora_body(self.id, lora), {}).finish()

    async def pin(self, pinned: bool = True) -> None:
        """Pins the session to its slot between turns, or unpins it, as `sotto.Session.pin()` does."""
        await self._engine._ask("change_session", pin_body(self.id, pinned), {}).finish()

    async def state(self) -> bytes:
        """Returns the KV cache of the session, as `sotto.Session.state()` does."""
        return await collect(self._engine._ask("save_state", session_body(self.id), {}))

    async def aclose(self) -> None:
        """Closes the session and deletes what it holds. A second call does nothing."""
        if self._engine._handle.closed:
            return
        closing = self._engine._ask("close_session", {"session": self.id}, {})
        try:
            await closing.end()  # the session is closed even if the task is cancelled
        except SottoError as error:
            if error.status != Status.NOT_FOUND:
                raise


class TokenSession(StoredSession):
    """`sotto.TokenSession` for asyncio.

    >>> async with await engine.token_session(tokens=[1, 15043], model="sotto/house") as raw:
    ...     print((await raw.complete([3186], {"max_tokens": 8})).tokens)
    """

    async def complete(
        self,
        prompt: Iterable[int] = (),
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> Completion:
        """Appends tokens and their answer, as `sotto.TokenSession.complete()` does."""
        body = turn_body(self.id, prompt, request)
        return read_completion((await self._engine._ask("completion", body, terms).finish()).json)

    async def cut(self, from_: int = 0, to: int | None = None) -> None:
        """Drops the tokens of a range, as `sotto.TokenSession.cut()` does."""
        await self._edit(cut_body(self.id, from_, to))

    async def shift(self, delta: int, from_: int = 0, to: int | None = None) -> None:
        """Adds `delta` to the positions of a range, as `sotto.TokenSession.shift()` does."""
        await self._edit(shift_body(self.id, delta, from_, to))

    async def copy(
        self, session_id: str | None = None, from_: int = 0, to: int | None = None
    ) -> TokenSession:
        """Opens a session as a copy of a range, as `sotto.TokenSession.copy()` does."""
        body = copy_body(self.id, session_id, from_, to)
        await self._edit(body)
        return TokenSession(self._engine, body["to_session"])

    async def end(self) -> int:
        """Returns the last position; -1: the session is empty."""
        return int((await self._edit({"session": self.id, "action": "read"}))["end"])

    async def tokens(self) -> list[int]:
        """Returns all tokens of the session, in the form that `Engine.token_session()` takes."""
        return tokens_of((await self._engine._ask("read_session", {"session": self.id}, {}).finish()).json)

    async def _edit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = load((await self._engine._ask("edit_session", body, {}).finish()).json)
        return told


class OpensSessions:
    """Part of `aio.Engine`: opens sessions, saves and restores KV cache states."""

    _engine: blocking.Engine
    _ask: Callable[..., Request]
    _open: Callable[[Mapping[str, Any]], Awaitable[str]]

    async def save_state(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Prefills `messages` or `prompt` and saves the KV cache, as `sotto.Engine.save_state()` does."""
        return (await self._ask("save_state", file_body(request_json), terms).finish()).json

    async def read_state(self, request_json: Json, **terms: Unpack[RequestOptions]) -> bytes:
        """Prefills a prompt and returns the KV cache, as `sotto.Engine.read_state()` does."""
        return await collect(self._ask("save_state", memory_body(request_json), terms))

    async def restore_state(self, request_json: Json, state: bytes | None = None) -> str:
        """Loads a saved KV cache, as `sotto.Engine.restore_state()` does."""
        if state is None:
            return (await self._ask("restore_state", request_json, {}).finish()).json
        return await asyncio.to_thread(self._engine.restore_state, request_json, state)

    async def token_session(
        self,
        session_id: str | None = None,
        tokens: Iterable[int] = (),
        *,
        model: str | None = None,
        pinned: bool = False,
        lora: Sequence[Lora] | None = None,
        state: bytes | None = None,
    ) -> TokenSession:
        """Opens a session that holds tokens, as `sotto.Engine.token_session()` does."""
        model = self._engine._resolve(model)
        body = open_tokens_body(session_id, tokens, model, pinned, lora)
        await self._warm(model, state)
        return TokenSession(self, await self._open(body))

    async def sessions(self) -> dict[str, int]:
        """Returns the ids of the open sessions, each with its number of messages or tokens."""
        return sizes_of((await self._ask("read_session", {}, {}).finish()).json)

    async def _warm(self, model: str | None, state: bytes | None) -> None:
        if state is not None:
            await self.restore_state({"model": with_state(model)}, state)


async def collect(request: Request) -> bytes:
    """Waits for a request and returns its data. Raises the request's error if it failed."""
    parts: list[bytes] = []
    try:
        while (event := await request.next()).kind != "request_done":
            parts.append(event.data)
    except BaseException:
        request.drop()
        raise
    return b"".join(parts)
