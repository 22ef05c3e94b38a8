"""`sotto.Session` for asyncio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._aio_parts import Selects
from ._aio_streams import DeltaStream, TokenStream
from ._handle import Unique
from ._typing import Unpack
from ._values import string
from .errors import SottoError, Status
from .messages import MessagesInput
from .session import (
    fork_body,
    messages_of,
    pin_body,
    rewind_body,
    system_body,
    text_of,
    turn_body,
)
from .terms import RequestOptions

if TYPE_CHECKING:
    from .aio import Engine


class Session(Selects, Unique):
    """`sotto.Session` for asyncio.

    >>> async with await engine.session("mara", "You are Mara.", model="sotto/house") as mara:
    ...     print(await mara.say("Is there a room?"))
    """

    def __init__(self, engine: Engine, session_id: str) -> None:
        self._engine: Engine = engine
        self.id = string("session_id", session_id)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def chat(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> TokenStream:
        """Appends a turn and streams the answer, as `sotto.Session.chat()` does."""
        return self._engine.llm_chat_completion_stream(turn_body(self.id, said, request), **terms)

    def stream(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> DeltaStream:
        """Appends a turn and streams the answer as `Delta` objects."""
        return DeltaStream(self.chat(said, request, **terms))

    async def say(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> str:
        """Waits for the whole answer and returns its text."""
        return text_of(await self._engine.llm_chat_completion(turn_body(self.id, said, request), **terms))

    async def set_system(self, text: str) -> None:
        """Sets the system message from the next turn on, as `sotto.Session.set_system()` does."""
        await self._engine._ask("change_session", system_body(self.id, text), {}).finish()

    async def fork(self, session_id: str | None = None, keep: int | None = None) -> Session:
        """Opens a session that starts as a copy of this one, as `sotto.Session.fork()` does."""
        return Session(self._engine, await self._engine._open(fork_body(self.id, session_id, keep)))

    async def rewind(self, turns: int = 1, *, keep: int | None = None) -> None:
        """Drops the last turns, as `sotto.Session.rewind()` does."""
        await self._engine._ask("edit_session", rewind_body(self.id, turns, keep), {}).finish()

    async def pin(self, pinned: bool = True) -> None:
        """Pins the session to its slot between turns, or unpins it, as `sotto.Session.pin()` does."""
        await self._engine._ask("change_session", pin_body(self.id, pinned), {}).finish()

    async def messages(self) -> list[dict[str, Any]]:
        """Returns all messages of the session, in the form that `Engine.session()` takes."""
        return messages_of((await self._engine._ask("read_session", {"session": self.id}, {}).finish()).json)

    async def aclose(self) -> None:
        """Closes the session and deletes its messages. A second call does nothing."""
        if self._engine._handle.closed:
            return
        closing = self._engine._ask("close_session", {"session": self.id}, {})
        try:
            await closing.end()  # the session is closed even if the task is cancelled
        except SottoError as error:
            if error.status != Status.NOT_FOUND:
                raise
