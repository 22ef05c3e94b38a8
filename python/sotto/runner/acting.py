"""Chats whose tools the runner executes: rounds of `sotto.agent` on a session of the engine."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from .. import session as sessions
from .._handle import Unique
from ..agent import Agent, Answer, Permissions, Tool
from ..agent.agent import AgentStream
from ..completion import Delta
from ..engine import Engine
from ..errors import SottoError
from .files import Files
from .requests import ChatCompletionRequest
from .responses import AgenticToolCallRecord
from .sessions import Message, StoredSession

MAX_ROUNDS = 256
_TIME_LIMIT = 600.0  # seconds of a call: the reference interface has no limit


class Acting(Unique):
    """A chat in progress whose tools the runner executes: iterates over the parts of the answer.

    Args:
        engine: The engine.
        model: Id of the model there.
        messages: The conversation.
        tools: Tools that are executed.
        request: The request, for its limits.
        fields: Further fields of the engine's requests.
        stored: The session of the runner.
        permissions: The rules for the tools.
    """

    def __init__(
        self,
        engine: Engine,
        model: str,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        request: ChatCompletionRequest,
        fields: Mapping[str, Any],
        stored: StoredSession,
        permissions: Permissions,
    ) -> None:
        rounds = MAX_ROUNDS if request.max_tool_rounds is None else request.max_tool_rounds
        lora = fields.get("lora")
        rest = {name: value for name, value in fields.items() if name != "lora"}
        earlier, said = list(messages[:-1]), messages[-1]
        self._session = engine.session(None, earlier, model=model, lora=lora)
        self._untrusted = {one.name for one in tools if one.untrusted}
        try:
            if stored.untrusted:
                permissions.distrust(self._session.id, stored.untrusted)
            agent = Agent(
                self._session,
                tools,
                permissions=permissions,
                max_tool_rounds=rounds,
                time_limit=_TIME_LIMIT,
            )
            self._stream = agent.stream([dict(said)], rest)
        except BaseException:
            _end(None, self._session)
            raise
        self._timings = [0.0, 0.0]
        self._messages: list[Message] | None = None
        self._finish = weakref.finalize(self, _end_later, self._stream, self._session)
        self._finish.atexit = False

    def __iter__(self) -> Acting:
        return self

    def __next__(self) -> Delta:
        if not self._finish.alive:
            raise StopIteration
        try:
            for event in self._stream:
                if isinstance(event, Delta):
                    self._time(event)
                    return event
            self._messages = list(self._session.messages)
        except BaseException:
            self.close()
            raise
        self.close()
        raise StopIteration

    @property
    def answer(self) -> Answer:
        """The answer so far."""
        return self._stream.answer

    @property
    def untrusted(self) -> str:
        """Name of a tool whose results are text of others, and which was called; empty: none was."""
        called = (one.tool for one in self.answer.calls if one.status not in ("running", "denied"))
        return next((name for name in called if name in self._untrusted), "")

    @property
    def messages(self) -> list[Message] | None:
        """All messages of the session; None: the chat has not ended, or failed."""
        return self._messages

    @property
    def seconds(self) -> tuple[float, float]:
        """Seconds of prefill and of decoding, of all rounds."""
        return self._timings[0] / 1000, self._timings[1] / 1000

    def close(self) -> None:
        """Cancels the rest of the answer and its running tools. A second call does nothing."""
        if self._finish.detach() is not None:
            _end(self._stream, self._session)

    def _time(self, delta: Delta) -> None:
        told = delta.raw.get("timings")
        if told and delta.finish_reason:
            self._timings[0] += told.get("prompt_ms", 0.0)
            self._timings[1] += told.get("predicted_ms", 0.0)


def records(answer: Answer, files: Files) -> list[AgenticToolCallRecord]:
    """Returns the records of the calls of an answer."""
    return [
        AgenticToolCallRecord(one.round, one.tool, one.arguments_json, one.result, [], files.of(one))
        for one in answer.calls
    ]


def _end(stream: AgentStream | None, session: sessions.Session) -> None:
    with suppress(SottoError):  # the engine is closed
        if stream is not None:
            stream.close()
        session.close()


def _end_later(stream: AgentStream, session: sessions.Session) -> None:
    """Ends a chat whose iterator was dropped, on a thread: the garbage collector must not wait."""
    threading.Thread(target=_end, args=(stream, session), name="sotto-runner-end", daemon=True).start()
