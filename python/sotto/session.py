"""Conversations that the engine keeps, so that a request says only what is new."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import engine as blocking  # which imports this module; for annotations
from ._handle import Unique
from ._typing import Unpack
from ._values import string, truth, whole
from .errors import NOT_FOUND, SottoError
from .messages import MessagesInput, as_messages
from .stream import TokenStream
from .terms import RequestOptions

_MOST_KEPT = (1 << 31) - 1


class Session(Unique):
    """A conversation that its engine keeps under an id. `Engine.session()` opens one, `fork()` another.

    A turn is remembered once its answer is whole: one that is cut off or fails leaves the session as it was.
    A session answers one chat at a time. It lasts until it is closed, or its engine is; `Session(engine,
    session_id)` is one that is open already. Any request may go on with one: `{"session": "mara", ...}`.

    >>> with engine.session("mara", "You are Mara, who keeps the inn.", model="sotto/house") as mara:
    ...     print(mara.say("Is there a room?"))
    ...     print(mara.say("And what does it cost?"))
    """

    def __init__(self, engine: blocking.Engine, session_id: str) -> None:
        self._engine = engine
        self.id = string("session_id", session_id)

    def __repr__(self) -> str:
        return f"<sotto.Session {self.id!r}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def chat(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> TokenStream:
        """Answers what is said, chunk by chunk. `request` holds further fields: `max_tokens`, `tools` ..."""
        return self._engine.llm_chat_completion_stream(self._body(said, request), **terms)

    def say(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> str:
        """Waits for the answer to what is said, and returns its text."""
        return text_of(self._engine.llm_chat_completion(self._body(said, request), **terms))

    def fork(self, session_id: str | None = None, keep: int | None = None) -> Session:
        """Another session that begins as a copy of this one, or of its first `keep` messages."""
        body = fork_body(self.id, session_id, keep)
        return self._engine._open(body, lambda name: Session(self._engine, name))

    def pin(self, pinned: bool = True) -> None:
        """Has it keep its place in the model between its turns, whoever else speaks; or no longer.

        A model leaves one place to those who are not pinned: where all others are kept, this is refused.
        """
        self._engine._ask("change_session", pin_body(self.id, pinned), {}).finish()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All that was said: what `Engine.session()` takes."""
        return messages_of(self._engine._ask("read_session", {"session": self.id}, {}).finish().json)

    def close(self) -> None:
        """Forgets it. A second call does nothing."""
        if self._engine._handle.closed:
            return
        closing = self._engine._ask("close_session", {"session": self.id}, {})
        try:
            while closing.next().kind != "done":
                pass
        except SottoError as error:
            if error.status != NOT_FOUND:
                raise
        except BaseException:
            closing.settle()  # it goes on
            raise

    def _body(self, said: MessagesInput, request: Mapping[str, Any] | None) -> dict[str, Any]:
        return turn_body(self.id, said, request)


# What requests about sessions say, and what comes of them: for both faces of the engine.


def open_body(
    session_id: str | None, said: MessagesInput, model: str | None, pinned: bool = False
) -> dict[str, Any]:
    """A new session's."""
    body: dict[str, Any] = {"session": _id(session_id), "messages": as_messages("messages", said, "system")}
    if truth("pinned", pinned):
        body["pinned"] = True
    return body if model is None else {**body, "model": string("model", model)}


def fork_body(origin: str, session_id: str | None, keep: int | None) -> dict[str, Any]:
    """A fork's."""
    body: dict[str, Any] = {"session": _id(session_id), "from": origin}
    return body if keep is None else {**body, "keep": whole("keep", keep, _MOST_KEPT)}


def pin_body(session_id: str, pinned: bool) -> dict[str, Any]:
    """A change of it."""
    return {"session": session_id, "pinned": truth("pinned", pinned)}


def turn_body(session_id: str, said: MessagesInput, request: Mapping[str, Any] | None) -> dict[str, Any]:
    """A turn's."""
    if request is not None and not isinstance(request, Mapping):
        raise TypeError(f"request is a {type(request).__name__}; it must be a mapping of further fields")
    return {**(request or {}), "session": session_id, "messages": as_messages("said", said, "user")}


def text_of(response: str) -> str:
    """What a chat completion says."""
    import json

    return json.loads(response)["choices"][0]["message"]["content"] or ""


def messages_of(session: str) -> list[dict[str, Any]]:
    """What was said in a session that was read."""
    import json

    found: list[dict[str, Any]] = json.loads(session)["messages"]
    return found


def sizes_of(sessions: str) -> dict[str, int]:
    """How many messages each session holds, of a list of them."""
    import json

    return {one["session"]: one["messages"] for one in json.loads(sessions)["data"]}


def _id(given: str | None) -> str:
    return f"session-{os.urandom(8).hex()}" if given is None else string("session_id", given)
