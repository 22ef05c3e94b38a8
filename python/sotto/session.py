"""Conversations that the engine stores, so that a request sends only new messages."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._sessions import StoredSession
from ._typing import Unpack
from ._values import string, truth, whole, wrong_type
from .adapters import Lora
from .completion import DeltaStream
from .messages import MessagesInput, as_messages
from .stream import TokenStream
from .terms import RequestOptions

_MOST_KEPT = (1 << 31) - 1


class Session(StoredSession):
    """A conversation that the engine stores under an id. `Engine.session()` and `fork()` open sessions.

    The engine appends a turn to the session when its answer is complete; a turn that is cancelled or fails
    leaves the session unchanged. A session answers one chat at a time. It exists until it is closed, or the
    engine is closed. `Session(engine, session_id)` refers to a session that is already open. Any request may
    continue a session by its id: `{"session": "mara", ...}`.

    >>> with engine.session("mara", "You are Mara, who keeps the inn.", model="sotto/house") as mara:
    ...     print(mara.say("Is there a room?"))
    ...     print(mara.say("And what does it cost?"))
    """

    def chat(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> TokenStream:
        """Appends a turn and streams the answer.

        Args:
            said: The user's text, one message, or several; None: no new message.
            request: Further fields of the chat request: `max_tokens`, `tools`, ...
            **terms: See `RequestOptions`.

        Returns:
            The answer's OpenAI chunks.

        Raises:
            InferenceError: The session already answers another chat, or the model failed.
        """
        return self._engine.llm_chat_completion_stream(self._body(said, request), **terms)

    def stream(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> DeltaStream:
        """Appends a turn and streams the answer as `Delta` objects. Arguments and errors: see `chat()`."""
        return DeltaStream(self.chat(said, request, **terms))

    def say(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> str:
        """Waits for the whole answer and returns its text. Arguments and errors are those of `chat()`."""
        return text_of(self._engine.llm_chat_completion(self._body(said, request), **terms))

    def submit(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        *,
        user: int = 0,
        chunks: bool = False,
        **terms: Unpack[RequestOptions],
    ) -> int:
        """Submits a turn and returns its request id. Never waits: for frame loops.

        The answer arrives as events of `Engine.events()`. A second turn before the first is complete ends
        with `Status.BUSY`. Other arguments are those of `chat()` and `Engine.submit()`.
        """
        body = self._body(said, request)
        return self._engine.submit("chat", body, user, chunks=chunks, **terms)

    def set_system(self, text: str) -> None:
        """Sets the system message, for example after a quest has advanced; "" removes it.

        Takes effect with the next turn, whose prompt is prefilled from the start. Waits until the engine has
        taken the message, usually well below a millisecond; a running answer continues. A frame that must not
        wait at all submits `engine.submit("change_session", {"session": id, "system": text})`.
        """
        self._engine._ask("change_session", system_body(self.id, text), {}).finish()

    def fork(self, session_id: str | None = None, keep: int | None = None) -> Session:
        """Opens a session that starts as a copy of this one. The copy is not pinned.

        Args:
            session_id: Id of the new session; None: a random id.
            keep: Copies only this many of the first messages; None: all messages.

        Returns:
            The new session.
        """
        body = fork_body(self.id, session_id, keep)
        return self._engine._open(body, lambda name: Session(self._engine, name))

    def rewind(self, turns: int = 1, *, keep: int | None = None) -> None:
        """Drops the last turns, for example if the player takes back what they said.

        A turn is a user message and all messages up to the next user message. The KV cache of the messages
        that stay is reused by the next turn. Forks are unchanged. Waits for the engine's control thread only.

        Args:
            turns: Number of turns to drop, from 1.
            keep: Keeps this many of the first messages instead; None: drops `turns`.

        Raises:
            ArgumentError: The session has fewer turns or messages.
            InferenceError: The session answers a chat: cancel it first.
        """
        self._engine._ask("edit_session", rewind_body(self.id, turns, keep), {}).finish()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All messages of the session, in the form that `Engine.session()` takes."""
        return messages_of(self._engine._ask("read_session", {"session": self.id}, {}).finish().json)

    def _body(self, said: MessagesInput, request: Mapping[str, Any] | None) -> dict[str, Any]:
        return turn_body(self.id, said, request)


# Request bodies and response parsers for sessions, shared by sotto.Engine and sotto.aio.Engine.


def open_body(
    session_id: str | None,
    said: MessagesInput,
    model: str | None,
    pinned: bool = False,
    lora: Sequence[Lora] | None = None,
) -> dict[str, Any]:
    """Returns the request body that opens a session."""
    body: dict[str, Any] = {"session": _id(session_id), "messages": as_messages("messages", said, "system")}
    if truth("pinned", pinned):
        body["pinned"] = True
    if lora is not None:
        body["lora"] = list(lora)
    return body if model is None else {**body, "model": string("model", model)}


def fork_body(origin: str, session_id: str | None, keep: int | None) -> dict[str, Any]:
    """Returns the request body that forks the session `origin`."""
    body: dict[str, Any] = {"session": _id(session_id), "from": origin}
    return body if keep is None else {**body, "keep": whole("keep", keep, _MOST_KEPT)}


def rewind_body(session_id: str, turns: int, keep: int | None) -> dict[str, Any]:
    """Returns the request body that drops the last turns of a session."""
    body: dict[str, Any] = {"session": session_id, "action": "rewind"}
    if keep is not None:
        return {**body, "keep": whole("keep", keep, _MOST_KEPT)}
    return {**body, "turns": whole("turns", turns, _MOST_KEPT)}


def system_body(session_id: str, text: str) -> dict[str, Any]:
    """Returns the request body that sets a session's system message. Raises `TypeError` if it is no str."""
    if not isinstance(text, str):
        raise wrong_type("text", text, "a str")
    return {"session": session_id, "system": text}


def turn_body(session_id: str, said: MessagesInput, request: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the chat request body of one turn. Raises `TypeError` if `request` is not a mapping."""
    if request is not None and not isinstance(request, Mapping):
        raise wrong_type("request", request, "a mapping of further fields")
    return {**(request or {}), "session": session_id, "messages": as_messages("said", said, "user")}


def text_of(response: str) -> str:
    """Returns the text of a chat completion."""
    import json

    return json.loads(response)["choices"][0]["message"]["content"] or ""


def messages_of(session: str) -> list[dict[str, Any]]:
    """Returns the messages in the response of a read_session request."""
    import json

    found: list[dict[str, Any]] = json.loads(session)["messages"]
    return found


def sizes_of(sessions: str) -> dict[str, int]:
    """Returns the number of messages, or of tokens, by session id, from the list of all sessions."""
    import json

    data = json.loads(sessions)["data"]
    return {one["session"]: one["tokens" if "tokens" in one else "messages"] for one in data}


def _id(given: str | None) -> str:
    return f"session-{os.urandom(8).hex()}" if given is None else string("session_id", given)
