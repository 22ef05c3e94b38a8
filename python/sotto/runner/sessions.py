"""`Sessions`: what chats with a session id leave behind, and how messages continue it."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._json import dump, load
from .._values import invalid, string
from ..agent import Decision
from ..errors import Status
from .errors import RunnerError
from .responses import File, FileSource

MAX_SESSIONS = 128
IDLE_SECONDS = 30 * 60
_VERSION = 1
_KIND = "sotto.runner.session"
_ROLES = ("system", "developer", "user", "assistant", "tool")
_MAX_BYTES = 256 << 20  # of an imported session
_MAX_MESSAGES = 65536
_MAX_FILES = 1024  # of a session; the oldest ones are dropped
_MAX_FILE_BYTES = 128 << 20  # of all files of a session

Message = Mapping[str, Any]
Key = tuple[str, str]  # id of the model, id of the session


@dataclass(eq=False)
class StoredSession:
    """A session: its messages with the rounds of calls, its files, and remembered approvals."""

    id: str
    messages: list[Message] = field(default_factory=list)
    turns: int = 0
    files: list[File] = field(default_factory=list)
    untrusted: str = ""  # a tool whose results in the messages are text of others
    remembered: dict[str, Decision] = field(default_factory=dict)  # by tool; not exported
    sandbox: str = ""  # id of the process that runs its code; not exported
    used: float = 0.0  # when it was used last
    busy: bool = False  # a chat of the session is being answered

    def add(self, files: Sequence[File], untrusted: str) -> None:
        """Adds what a chat left behind. Drops the oldest files if there are too many, but none of this chat.

        Args:
            files: Files that its tools produced.
            untrusted: Tool whose results are text of others; empty: there are no such results.
        """
        self.untrusted = self.untrusted or untrusted
        kept = [*self.files, *files]
        size = sum(one.bytes for one in kept)
        while len(kept) > len(files) and (len(kept) > _MAX_FILES or size > _MAX_FILE_BYTES):
            size -= kept.pop(0).bytes
        self.files = kept


class Sessions:
    """Sessions by model and id: at most 128, the least recently used one goes; 30 minutes without use.

    Thread-safe.

    Args:
        clock: Returns a time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()  # guards the sessions; a stream may be collected while it is held
        self._sessions: dict[Key, StoredSession] = {}  # the one that was used last is the last

    def begin(self, model: str, session_id: str | None) -> StoredSession:
        """Returns a session for a chat, which `end()` ends. A new one if the id is None or unknown.

        Raises:
            RunnerError: Another chat of the session is being answered.
        """
        name = f"session-{os.urandom(8).hex()}" if session_id is None else string("session_id", session_id)
        with self._lock:
            self._expire()
            found = self._sessions.pop((model, name), None) or StoredSession(name)
            self._sessions[model, name] = found
            if found.busy:
                raise RunnerError(
                    f"session '{name}' already answers: wait for it, or close its stream", Status.BUSY
                )
            found.busy = True
            found.used = self._clock()
            self._evict()
            return found

    def end(self, model: str, session: StoredSession, messages: Sequence[Message] | None) -> None:
        """Ends a chat. `messages`: all messages of the session; None: it failed, and changes nothing."""
        with self._lock:
            session.busy = False
            session.used = self._clock()
            if messages is not None:
                session.messages = list(messages)
                session.turns += 1
            elif not session.messages and self._sessions.get((model, session.id)) is session:
                del self._sessions[model, session.id]

    def ids(self, model: str) -> list[str]:
        """Returns the ids of a model's sessions."""
        with self._lock:
            self._expire()
            return [name for owner, name in self._sessions if owner == model]

    def delete(self, model: str, session_id: str) -> bool:
        """Deletes a session. Returns False if the id is unknown."""
        key = (model, string("session_id", session_id))
        with self._lock:
            self._expire()
            return self._sessions.pop(key, None) is not None

    def forget(self, model: str) -> None:
        """Deletes the sessions of a model."""
        with self._lock:
            for key in [one for one in self._sessions if one[0] == model]:
                del self._sessions[key]

    def export(self, model: str, session_id: str) -> str | None:
        """Returns a session as JSON; None: the id is unknown."""
        key = (model, string("session_id", session_id))
        with self._lock:
            self._expire()
            found = self._sessions.get(key)
            if found is None:
                return None
            return dump(
                "session",
                {
                    "kind": _KIND,
                    "version": _VERSION,
                    "turns": found.turns,
                    "messages": list(found.messages),
                    "files": [dataclasses.asdict(one) for one in found.files],
                    "untrusted": found.untrusted,
                },
            )

    def take(self, model: str, session_id: str, text: str) -> None:
        """Imports a session, which replaces one with the same id.

        Raises:
            RunnerError: The text is no exported session of this version, or the session is answering.
        """
        made = read_session(string("session_id", session_id), text)
        key = (model, made.id)
        with self._lock:
            self._expire()
            before = self._sessions.get(key)
            if before is not None and before.busy:
                raise RunnerError(
                    f"session '{made.id}' answers: wait for it, or close its stream", Status.BUSY
                )
            self._sessions.pop(key, None)
            made.used = self._clock()
            self._sessions[key] = made
            self._evict()

    def find_file(self, file_id: str) -> File | None:
        """Returns a file of any session; None: the id is unknown."""
        string("file_id", file_id)
        with self._lock:
            self._expire()
            files = (file for one in self._sessions.values() for file in one.files)
            return next((file for file in files if file.id == file_id), None)

    def _expire(self) -> None:
        now = self._clock()
        for key in [one for one, held in self._sessions.items() if now - held.used > IDLE_SECONDS]:
            if not self._sessions[key].busy:
                del self._sessions[key]

    def _evict(self) -> None:
        for key in list(self._sessions)[: max(0, len(self._sessions) - MAX_SESSIONS)]:
            if not self._sessions[key].busy:
                del self._sessions[key]


def read_session(session_id: str, text: str) -> StoredSession:
    """Reads an exported session. Raises `RunnerError` if the text is none."""
    if not isinstance(text, str):
        raise TypeError(invalid("session_json", text, f"a str, not {type(text).__name__}"))
    if len(text) > _MAX_BYTES:
        raise RunnerError(f"invalid session_json: expected at most {_MAX_BYTES} characters, not {len(text)}")
    told = load(text)
    if not isinstance(told, dict) or told.get("kind") != _KIND:
        raise RunnerError(invalid("session_json", text, "the text that export_session() returned"))
    if told.get("version") != _VERSION:
        raise RunnerError(
            invalid("session_json.version", told.get("version"), f"{_VERSION}; export it again")
        )
    turns = told.get("turns")
    if not isinstance(turns, int) or isinstance(turns, bool) or turns < 0:
        raise RunnerError(invalid("session_json.turns", turns, "an integer from 0"))
    untrusted = told.get("untrusted", "")
    if not isinstance(untrusted, str):
        raise RunnerError(invalid("session_json.untrusted", untrusted, "a text"))
    files = told.get("files")
    if not isinstance(files, list):
        raise RunnerError(invalid("session_json.files", files, "a list"))
    try:
        read = [File(**{**one, "source": FileSource(**one["source"])}) for one in files]
    except (TypeError, KeyError) as error:
        raise RunnerError(f"invalid session_json.files: expected exported files; {error}") from None
    return StoredSession(session_id, read_messages(told.get("messages")), turns, read, untrusted)


def read_messages(given: object) -> list[Message]:
    """Returns the messages of an exported session. Raises `RunnerError` if one is invalid."""
    if not isinstance(given, list) or len(given) > _MAX_MESSAGES:
        raise RunnerError(
            invalid("session_json.messages", given, f"a list of at most {_MAX_MESSAGES} messages")
        )
    for at, one in enumerate(given):
        content = one.get("content") if isinstance(one, dict) else 0
        calls = one.get("tool_calls") if isinstance(one, dict) else 0
        if (
            not isinstance(content, str | list | None)
            or not isinstance(calls, list | None)
            or one.get("role") not in _ROLES
        ):
            raise RunnerError(invalid(f"session_json.messages[{at}]", one, "a message"))
    return given


def spliced(stored: Sequence[Message], said: Sequence[Message]) -> list[Message]:
    """Returns the conversation of a request: stored messages that it repeats, with their calls, and the rest.

    One new message of the user, also after system messages, continues the stored conversation. A longer list
    repeats it; stored messages from the first difference on are dropped.
    """
    lead = next((at for at, one in enumerate(said) if one.get("role") != "system"), len(said))
    users = [one for one in stored if one.get("role") == "user"]
    alone = len(said) == lead + 1 and said[lead].get("role") == "user"
    if alone and users and _key(said[lead]) != _key(users[0]):
        kept = [one for one in stored if not lead or one.get("role") != "system"]
        return [*said[:lead], *kept, said[lead]]
    pending: list[Message] = []
    kept, at = [], 0
    for one in stored:
        if at < len(said) and _key(one) == _key(said[at]):
            kept += [*pending, one]
            pending, at = [], at + 1
        elif one.get("role") == "tool" or one.get("tool_calls"):
            pending.append(one)
        else:
            break
    return [*kept, *said[at:]]


def _key(message: Message) -> tuple[object, ...]:
    """Returns what makes two messages the same."""
    calls = message.get("tool_calls") or None
    content = message.get("content") or ""
    return (
        message.get("role"),
        content if isinstance(content, str) else json.dumps(content, sort_keys=True, default=str),
        None if calls is None else json.dumps(calls, sort_keys=True, default=str),
        message.get("tool_call_id"),
    )
