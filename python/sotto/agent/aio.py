"""`Agent` for asyncio: a session of `sotto.aio` whose model calls tools."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from .. import aio
from .._handle import Unique
from .._typing import Unpack
from .._values import wrong_type
from ..messages import MessagesInput
from ..terms import RequestOptions
from .audit import AuditLog
from .kit import MAX_RESULT, MAX_ROUNDS, TIME_LIMIT, make_kit
from .permissions import Permissions
from .ports import AioPort
from .records import Answer
from .request import turn_fields
from .results import Marker
from .running import RunningTurn, TurnSlot
from .turn import Event, Turn


class AgentStream(Unique):
    """Iterates over the events of a turn: a `Delta` of an answer, or a `Call`. Closing it cancels the rest.

    >>> async with agent.stream("Let me in!") as events:
    ...     async for event in events:
    ...         print(event)
    """

    def __init__(self, running: RunningTurn) -> None:
        self._running = running
        self._end = weakref.finalize(self, running.task.cancel)
        self._end.atexit = False

    def __aiter__(self) -> AgentStream:
        return self

    async def __anext__(self) -> Event:
        if (event := await self._running.next()) is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> AgentStream:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @property
    def answer(self) -> Answer:
        """The answer so far, with a record of each call, also after a failure."""
        return self._running.turn.answer

    async def aclose(self) -> None:
        """Cancels the rest of the turn and its running tools. A second call does nothing."""
        await self._running.close()


class Agent(Unique):
    """`sotto.agent.Agent` for asyncio, on a session of `sotto.aio.Engine`. Arguments and errors are the same.

    Coroutine functions run on the loop, other functions on threads. Cancelling a task cancels the turn that
    it awaits.

    >>> async with await engine.session("gate", SHEET, model="sotto/house") as session:
    ...     agent = sotto.agent.aio.Agent(session, [open_gate])
    ...     print((await agent.say("Open the gate, please.")).text)
    """

    def __init__(
        self,
        session: aio.Session,
        tools: Iterable[Any] = (),
        *,
        permissions: Permissions | None = None,
        audit: AuditLog | None = None,
        character: str | None = None,
        max_tool_rounds: int = MAX_ROUNDS,
        concurrent: bool = False,
        time_limit: float = TIME_LIMIT,
        max_result: int = MAX_RESULT,
        marker: Marker | None = None,
        min_call_probability: float | None = None,
    ) -> None:
        if not isinstance(session, aio.Session):
            raise wrong_type("session", session, "a session of sotto.aio.Engine")
        self.session = session
        self.audit = AuditLog() if audit is None else audit
        self.permissions = Permissions() if permissions is None else permissions
        self._kit = make_kit(
            tools,
            self.permissions,
            self.audit,
            session.id if character is None else character,
            max_tool_rounds,
            concurrent,
            time_limit,
            max_result,
            marker,
            min_call_probability,
        )
        self._kit.toolbox.attach(session._engine._handle, session.id)
        self._slot = TurnSlot()

    def __repr__(self) -> str:
        return f"<sotto.agent.aio.Agent of {self.session!r}, {len(self._kit.toolbox)} tools>"

    def stream(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> AgentStream:
        """Appends a turn and streams its events."""
        fields = turn_fields(request, options)
        turn = Turn(self._kit, AioPort(self.session), said, fields, options)
        return AgentStream(RunningTurn(turn, self._slot))

    async def say(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> Answer:
        """Appends a turn, and waits until the model has spoken without a call."""
        async with self.stream(said, request, **options) as events:
            async for _ in events:
                pass
            return events.answer
