"""`Agent`: a session whose model calls tools."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from .. import session as sessions
from .._handle import Unique
from .._typing import Unpack
from .._values import wrong_type
from ..messages import MessagesInput
from ..terms import RequestOptions
from . import background
from .audit import AuditLog
from .kit import MAX_RESULT, MAX_ROUNDS, TIME_LIMIT, make_kit
from .permissions import Permissions
from .ports import ThreadPort
from .records import Answer
from .request import turn_fields
from .results import Marker
from .running import RunningTurn, TurnSlot
from .turn import Event, Turn


class AgentStream(Unique):
    """Iterates over the events of a turn: a `Delta` of an answer, or a `Call`. Closing it cancels the rest.

    >>> with agent.stream("Let me in!") as events:
    ...     for event in events:
    ...         print(event)
    """

    def __init__(self, running: RunningTurn) -> None:
        self._running = running
        self._end = weakref.finalize(self, background.post, running.loop, running.task)
        self._end.atexit = False

    def __iter__(self) -> AgentStream:
        return self

    def __next__(self) -> Event:
        if (event := background.run(self._running.next())) is None:
            raise StopIteration
        return event

    def __enter__(self) -> AgentStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def answer(self) -> Answer:
        """The answer so far, with a record of each call, also after a failure."""
        return self._running.turn.answer

    def close(self) -> None:
        """Cancels the rest of the turn and its running tools. A second call does nothing."""
        background.run(self._running.close())


class Agent(Unique):
    """A session whose model calls tools: it answers, its calls run, their results go back, until it speaks.

    The calls of a round run in their order, or at once if `concurrent`. Arguments are checked against their
    schema; of local models, decoding is constrained to it. A call that fails, is denied or takes too long is
    reported to the model as text. Results are marked as data in the prompt. A turn that fails or is
    cancelled leaves the session as it was, but not the world: what its tools did is in `audit`.

    An agent has one turn at a time. Functions run on threads of their own, coroutine functions on an event
    loop in the background, which all blocking agents share.

    Args:
        session: Session of a `sotto.Engine`.
        tools: Functions, results of `tool()` and `Tool.from_schema()`, or objects with `tools`, such as a
            `Dispatch`; at most 128, with different names.
        permissions: Decides about each call before it runs; None: each call runs.
        audit: Log of every call; None: one in memory.
        character: Who calls, for approvals, the log, and tools of some characters; None: the session's id.
        max_tool_rounds: Maximum rounds of calls in a turn; then the model has to speak. 0 to 256.
        concurrent: True: the calls of one round run at once. They are approved one by one.
        time_limit: Time limit of a call in seconds, if its tool has none. A function that goes on after it is
            left behind; see `CallContext.cancelled`.
        max_result: Maximum characters of a result. The rest is cut, and the model is informed of it.
        marker: Returns the text of a `tool` message for the name of a tool and its result; None: between
            lines that name it as data, and on one line for Sotto's own models.
        min_call_probability: Probability from which a call in the first answer of a turn is taken: the
            product over its tokens, without the names of arguments; that answer is greedy. Below it, and if
            that answer is text, the model is asked again without tools: small models mix up calls and speech.
            Suits short arguments that repeat what was said. 0: the answer is taken as it is. None: 0, and
            0.25 for Sotto's own models.

    Raises:
        ArgumentError: Two tools have the same name, or an argument is out of range.

    >>> with engine.session("gate", SHEET, model="sotto/house") as session:
    ...     agent = Agent(session, [open_gate])
    ...     print(agent.say("Open the gate, please.").text)
    """

    def __init__(
        self,
        session: sessions.Session,
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
        if not isinstance(session, sessions.Session):
            raise wrong_type("session", session, "a session of sotto.Engine; sotto.agent.aio has asyncio's")
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
        return f"<sotto.agent.Agent of {self.session!r}, {len(self._kit.toolbox)} tools>"

    def stream(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> AgentStream:
        """Appends a turn and streams its events.

        Args:
            said: The user's text, one message, or several; None: no new message.
            request: Further fields of each chat request of the turn: `max_tokens`, ... `tool_choice` holds
                for the first round.
            **options: See `RequestOptions`.

        Raises:
            ArgumentError: A field is invalid.
            InferenceError: The agent already answers, or the model failed.
        """
        fields = turn_fields(request, options)
        turn = Turn(self._kit, ThreadPort(self.session), said, fields, options)

        async def start() -> RunningTurn:
            return RunningTurn(turn, self._slot)

        return AgentStream(background.run(start()))

    def say(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> Answer:
        """Appends a turn, and waits until the model has spoken without a call.

        Arguments and errors are those of `stream()`.

        Returns:
            The answer, with records of its rounds.
        """
        with self.stream(said, request, **options) as events:
            for _ in events:
                pass
            return events.answer
