"""Chats whose tools the runner executes: rounds of `sotto.agent` on a session of the engine."""

from __future__ import annotations

import base64
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from .. import session as sessions
from .._handle import Unique
from ..agent import (
    Agent,
    Answer,
    ApprovalRequest,
    CallContext,
    Decision,
    Dispatch,
    Permission,
    Permissions,
    Tool,
)
from ..agent.agent import AgentStream
from ..agent.tool import described
from ..completion import Delta
from ..engine import Engine
from ..errors import SottoError
from .agents import (
    AgentPermission,
    AgentToolApproval,
    AgentToolApprovalDecision,
    AgentToolApprovalDecisionKind,
    AgentToolKind,
    AgentToolMetadata,
    AgentToolSource,
)
from .errors import RunnerError
from .requests import ChatCompletionRequest
from .responses import AgenticToolCallRecord, File, FileSource
from .sessions import Message, StoredSession

ToolCallback = Callable[[str, dict[str, Any]], Any]
MAX_ROUNDS = 256
_TIME_LIMIT = 600.0  # seconds of a call: the reference interface has no limit
_SOURCES = {"dispatch": AgentToolSource.External}
_PERMISSIONS: Mapping[AgentPermission, Permission] = {
    AgentPermission.Auto: "auto",
    AgentPermission.Ask: "ask",
    AgentPermission.Deny: "deny",
}
_PREVIEW = 256  # characters


class Toolkit(NamedTuple):
    """The tools of a request.

    Attributes:
        tools: Those that the runner executes.
        schemas: The schemas of the others, which the caller executes.
    """

    tools: list[Tool]
    schemas: list[dict[str, Any]]


class Files:
    """Files that the callbacks of a chat produce, by call."""

    def __init__(self, turn: int) -> None:
        self._turn = turn
        self._lock = threading.Lock()  # guards the files
        self._files: dict[str, list[File]] = {}

    def keep(self, given: File, context: CallContext) -> File:
        """Keeps a file under an id of its own."""
        body = (
            base64.b64decode(given.data_base64)
            if given.data_base64 is not None
            else (given.text or "").encode()
        )
        made = File(
            f"file-{os.urandom(8).hex()}",
            given.name,
            given.format,
            given.mime_type,
            len(body),
            FileSource(context.tool, context.round, self._turn),
            given.text,
            given.data_base64,
            None if given.text is None else given.text[:_PREVIEW],
        )
        with self._lock:
            self._files.setdefault(context.call_id, []).append(made)
        return made

    def of(self, call_id: str) -> list[str]:
        """Returns the ids of the files of a call."""
        with self._lock:
            return [one.id for one in self._files.get(call_id, ())]

    def all(self) -> list[File]:
        """Returns all files."""
        with self._lock:
            return [one for files in self._files.values() for one in files]


def toolkit(
    schemas: Sequence[dict[str, Any]],
    callbacks: Mapping[str, ToolCallback],
    dispatch_url: str | None,
    files: Files,
) -> Toolkit:
    """Returns the tools of a request. A callback has precedence over the dispatch URL.

    Raises:
        RunnerError: Some tools have a callback and others have not.
    """
    own, rest = [], []
    for one in schemas:
        name = str((one.get("function") or {}).get("name"))
        if name in callbacks:
            own.append(described(one, _runs(name, callbacks[name], files), "schema", callbacks[name], {}))
        else:
            rest.append(one)
    if dispatch_url is not None:  # the host's own server, whose results are no text of strangers
        return Toolkit([*own, *Dispatch(dispatch_url, rest, untrusted=False).tools], [])
    if own and rest:
        names = ", ".join(f"'{(one.get('function') or {}).get('name')}'" for one in rest)
        raise RunnerError(
            f"invalid tool_schemas: expected a callback for each tool, or for none; {names} has none; "
            "add it to tool_callbacks, or set tool_dispatch_url"
        )
    return Toolkit(own, rest)


def _runs(name: str, callback: ToolCallback, files: Files) -> Callable[[Any, CallContext], Any]:
    def run(arguments: Any, context: CallContext) -> Any:
        result = callback(name, arguments)
        if not isinstance(result, File):
            return result
        made = files.keep(result, context)
        return f"made the file {made.name} ({made.bytes} bytes){': ' + made.preview if made.preview else ''}"

    return run


def permissions(request: ChatCompletionRequest, stored: StoredSession) -> Permissions:
    """Returns the rules for the tools of a request, with what the session remembers."""
    callback = request.agent_approval_callback

    def approve(asked: ApprovalRequest) -> Decision:
        if asked.tool in stored.remembered:
            return stored.remembered[asked.tool]
        if callback is None:
            return Decision.deny("no approval callback")
        decision = _decision(callback(_approval(asked, stored.id)))
        if decision.remember == "tool":
            stored.remembered[asked.tool] = decision
        return decision

    default = _PERMISSIONS[request.agent_permission or AgentPermission.Auto]
    return Permissions(default, approve=approve)


def _approval(asked: ApprovalRequest, session_id: str) -> AgentToolApproval:
    source = _SOURCES.get(asked.source, AgentToolSource.User)
    external = source is AgentToolSource.External
    kind = AgentToolKind.External if external else AgentToolKind.Custom
    about = AgentToolMetadata(source, kind, asked.tool)
    return AgentToolApproval(asked.id, session_id, asked.round, about, asked.arguments_json)


def _decision(given: object) -> Decision:
    if isinstance(given, AgentToolApprovalDecision):
        remember = "tool" if given.remember_for_session else "never"
        if given.decision is AgentToolApprovalDecisionKind.Approve:
            return Decision(True, remember)  # type: ignore[arg-type]
        return Decision(False, remember, given.message or "")  # type: ignore[arg-type]
    if isinstance(given, bool):
        return Decision(given)
    raise TypeError(f"expected True, False or an AgentToolApprovalDecision, not {type(given).__name__}")


class Acting(Unique):
    """A chat in progress whose tools the runner executes: iterates over the parts of the answer.

    Args:
        engine: The engine.
        model: Id of the model there.
        messages: The conversation.
        tools: Tools that are executed.
        request: The request, for its limits and permissions.
        fields: Further fields of the engine's requests.
        stored: The session of the runner.
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
    ) -> None:
        rounds = MAX_ROUNDS if request.max_tool_rounds is None else request.max_tool_rounds
        lora = fields.get("lora")
        rest = {name: value for name, value in fields.items() if name != "lora"}
        earlier, said = list(messages[:-1]), messages[-1]
        self._session = engine.session(None, earlier, model=model, lora=lora)
        try:
            agent = Agent(
                self._session,
                tools,
                permissions=permissions(request, stored),
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
        AgenticToolCallRecord(one.round, one.tool, one.arguments_json, one.result, [], files.of(one.id))
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
