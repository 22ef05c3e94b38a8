"""`Talk`: the conversation of a character, a session whose oldest turns leave when it grows too long."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..completion import DeltaStream
from ..engine import Engine
from ..session import Session

if TYPE_CHECKING:
    from ..agent import Agent, AgentStream

Message = dict[str, Any]


class Talk:
    """The conversation of a character.

    Args:
        engine: Engine with the model.
        session_id: Id of the session. One that is open already is continued.
        model: Id of the model.
        tokens: Most tokens of messages that stay, the system message not counted.
        agent: Makes the agent that runs the calls of a session; None: the model has no tools.
    """

    def __init__(
        self,
        engine: Engine,
        session_id: str,
        model: str,
        tokens: int,
        agent: Callable[[Session], Agent] | None = None,
    ) -> None:
        self._engine = engine
        self._id = session_id
        self._model = model
        self._tokens = tokens
        self._session: Session | None = None
        self._system = ""
        self._make_agent = agent
        self._agent: Agent | None = None

    def stream(
        self, system: str, text: str, fields: Mapping[str, Any], **options: Any
    ) -> DeltaStream | AgentStream:
        """Says something to the character. Opens the session at the first turn.

        Args:
            system: The system message of this turn.
            text: What is said.
            fields: Further fields of the chat request.
            **options: See `RequestOptions`.
        """
        session = self._opened(system)
        if self._make_agent is None:
            return session.stream(text, fields, **options)
        if self._agent is None or self._agent.session is not session:
            self._agent = self._make_agent(session)
        return self._agent.stream(text, fields, **options)

    def trim(self) -> list[Message]:
        """Removes the oldest turns if there are too many, down to half of what may stay.

        Returns:
            The messages that were removed, oldest first.
        """
        if self._session is None:
            return []
        messages = [one for one in self._session.messages if one["role"] != "system"]
        sizes = [self.count(str(one.get("content") or "")) for one in messages]
        if sum(sizes) <= self._tokens:
            return []
        left, keep = sum(sizes), 0
        while keep < len(messages) and (left > self._tokens // 2 or messages[keep]["role"] != "user"):
            left -= sizes[keep]
            keep += 1
        self._reopen(messages[keep:])
        return messages[:keep]

    @property
    def messages(self) -> list[Message]:
        """The messages of the conversation without the system message."""
        if self._session is None:
            return []
        return [one for one in self._session.messages if one["role"] != "system"]

    def last_said(self, text: str) -> str:
        """Returns what was said last, as the session has it: `text`, or what guardrails made of it."""
        said = [one for one in self.messages if one["role"] == "user"]
        content = said[-1].get("content") if said else None
        return content if isinstance(content, str) else text

    def count(self, text: str) -> int:
        """Returns how many tokens a text has."""
        found = self._engine.tokenize({"model": self._model, "content": text, "add_special": False})
        return len(json.loads(found)["tokens"])

    def close(self) -> None:
        """Closes the session and deletes its messages."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _opened(self, system: str) -> Session:
        if self._session is None:
            known = self._id in self._engine.sessions()
            self._session = (
                Session(self._engine, self._id)
                if known
                else self._engine.session(self._id, system, model=self._model)
            )
            self._system = "" if known else system
        if system != self._system:
            self._session.set_system(system)
            self._system = system
        return self._session

    def _reopen(self, messages: Sequence[Message]) -> None:
        assert self._session is not None
        self._session.close()
        system = [{"role": "system", "content": self._system}] if self._system else []
        self._session = self._engine.session(self._id, [*system, *messages], model=self._model)
