"""`Calls`: the calls of one round, checked, approved and run."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ArgumentError
from ..terms import Priority
from .approval import ApprovalRequest, Decision
from .audit import AuditEvent
from .context import CallContext
from .hearing import RawCall
from .kit import Kit
from .records import Call, CallStatus, ToolResult
from .results import ResultError, cut, text_of
from .threads import Outcome, is_async, limited, on_thread
from .tool import Tool

_log = logging.getLogger("sotto.agent")
_LONGEST_ERROR = 400  # characters


@dataclass(frozen=True)
class RoundContext:
    """What the calls of a round have in common."""

    session_id: str
    round: int
    priority: Priority
    said: str
    text: str


class Refused(Exception):
    """A call does not run."""

    def __init__(self, status: CallStatus, result: str, reason: str, event: AuditEvent) -> None:
        super().__init__(reason)
        self.status, self.result, self.reason, self.event = status, result, reason, event


class Calls:
    """The calls of one round. `records` has one `Call` for each, at every time.

    Args:
        kit: Tools and rules.
        given: The calls as the model wrote them.
        about: What they have in common.
        hear: Gets each record when its tool starts, and when it has ended.
    """

    def __init__(
        self, kit: Kit, given: Sequence[RawCall], about: RoundContext, hear: Callable[[Call], None]
    ) -> None:
        self._kit = kit
        self._given = given
        self._about = about
        self._hear = hear
        self._asking = asyncio.Lock()  # one approval at a time
        self._sorted_json = [""] * len(given)  # arguments
        self.untrusted: list[str] = []  # untrusted tools that were started
        self.records = [
            Call(one.id or f"call_{about.round}_{at}", one.name, {}, one.arguments, about.round)
            for at, one in enumerate(given)
        ]

    async def run(self) -> None:
        """Runs the calls, in order or at once. Those that have not ended are cancelled with the task."""
        every = range(len(self._given))
        try:
            if not self._kit.concurrent:
                for at in every:
                    await self._one(at)
                return
            tasks = [asyncio.ensure_future(self._one(at)) for at in every]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
        except BaseException:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Records the calls that have not ended as cancelled."""
        for at, call in enumerate(self.records):
            if call.status == "running":
                self.records[at] = replace(call, status="cancelled", reason="the turn was cancelled")
                self._note_end("cancelled", self.records[at])

    def refuse(self, reason: str) -> None:
        """Records all calls as denied."""
        for at, call in enumerate(self.records):
            self.records[at] = replace(call, status="denied", reason=reason)
            self._note_end("denied", self.records[at], reason)

    async def _one(self, at: int) -> None:
        started = 0.0
        try:
            tool, value = self._checked(at)
            await self._permit(at, tool)
            self._start(at, tool)
            started = time.monotonic()
            status, result, reason = await self._run(at, tool, value)
            event: AuditEvent = status  # type: ignore[assignment]
        except Refused as refused:
            status, result, reason, event = refused.status, refused.result, refused.reason, refused.event
        seconds = time.monotonic() - started if started else 0.0
        text = cut(result, self._kit.max_result)
        self.records[at] = replace(
            self.records[at],
            status=status,
            result=text,
            reason=reason,
            seconds=seconds,
            truncated=text != result,
        )
        self._note_end(event, self.records[at], reason or text)
        self._hear(self.records[at])

    # Before the call

    def _checked(self, at: int) -> tuple[Tool, Any]:
        """Returns the tool of a call, and its arguments as the tool takes them."""
        name, about = self._given[at].name, self._about
        tool = self._kit.toolbox.get(name)
        if tool is None:
            known = ", ".join(one["function"]["name"] for one in self._offered()) or "no tool"
            raise _invalid(f"unknown tool '{name[:64]}': expected {known}")
        if not tool.allowed(self._kit.character, about.priority):
            reason = f"'{self._kit.character}' may not call it at priority '{about.priority}'"
            raise Refused("denied", "denied: not allowed", reason, "denied")
        try:
            arguments = json.loads(self._given[at].arguments or "{}")
            self._sorted_json[at] = json.dumps(arguments, sort_keys=True)
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            raise _invalid("invalid arguments: expected a JSON object")
        self.records[at] = replace(self.records[at], arguments=arguments)
        try:
            return tool, tool.read(arguments, "arguments")
        except ArgumentError as error:
            raise _invalid(str(error)) from None
        except Exception as error:  # of the application's own classes
            raise _invalid(f"invalid arguments: {_named(error)}") from None

    def _offered(self) -> list[dict[str, Any]]:
        return self._kit.toolbox.offered(self._kit.character, self._about.priority)

    async def _permit(self, at: int, tool: Tool) -> None:
        """Raises `Refused` unless the call may run."""
        permissions = self._kit.permissions
        permission, why = permissions.of(tool, self._about.session_id)
        self.records[at] = replace(self.records[at], permission=permission)
        if permission == "auto":
            return
        if permission == "deny":
            raise Refused("denied", "denied: not allowed", f"{why} is 'deny'", "denied")
        request = self._request(at, tool, why)
        async with self._asking:
            decision, reason = await self._decide(at, request)
        if decision.allowed is not True:
            message = decision.message or "not approved"
            raise Refused("denied", f"denied: {message}"[:_LONGEST_ERROR], reason, "denied")
        self._note_before("approved", self.records[at], reason)

    def _request(self, at: int, tool: Tool, why: str) -> ApprovalRequest:
        call, about = self.records[at], self._about
        return ApprovalRequest(
            id=secrets.token_hex(8),
            tool=tool.name,
            kind=tool.kind,
            source=tool.source,
            description=tool.description,
            arguments=call.arguments,
            arguments_json=self._sorted_json[at],
            character=self._kit.character,
            session_id=about.session_id,
            round=about.round,
            priority=about.priority,
            said=about.said,
            text=about.text,
            reason=why,
        )

    async def _decide(self, at: int, request: ApprovalRequest) -> tuple[Decision, str]:
        """Returns the decision about a call, and the reason for it. Denies if the callback fails."""
        permissions = self._kit.permissions
        if (kept := permissions.remembered(request)) is not None:
            return kept, "remembered decision"
        approve = permissions.approve
        if approve is None:
            return Decision(False), f"{request.reason} is 'ask', and there is no approval callback"
        self._note_before("asked", self.records[at], request.reason)
        outcome = await limited(lambda: approve(request), permissions.time_limit, awaited=is_async(approve))
        if outcome.kind == "timed_out":
            return Decision(False), f"no decision within {permissions.time_limit:g} s"
        if outcome.kind == "error":
            _log.warning("the approval callback of '%s' raised", request.tool, exc_info=outcome.value)
            return Decision(False), f"the approval callback raised {_named(outcome.value)}"
        given = outcome.value
        if isinstance(given, bool):
            given = Decision(given)
        if not isinstance(given, Decision):
            kind = type(given).__name__
            return Decision(False), f"the approval callback returned a {kind}: expected a bool or a Decision"
        permissions.remember(request, given)
        return given, given.message or "decision of the approval callback"

    # The call

    def _start(self, at: int, tool: Tool) -> None:
        self._note_before("started", self.records[at])
        if tool.untrusted:
            self.untrusted.append(tool.name)
        self._hear(self.records[at])

    async def _run(self, at: int, tool: Tool, value: Any) -> tuple[CallStatus, str, str]:
        """Runs a tool. Returns status, result and reason."""
        call, about = self.records[at], self._about
        context = CallContext(
            tool.name, call.id, about.session_id, self._kit.character, about.round, about.priority
        )
        limit = tool.options.get("time_limit") or self._kit.time_limit
        outcome = await limited(
            lambda: tool.run(value, context), limit, awaited=is_async(tool.function), end=context.end
        )
        if outcome.kind == "value":
            outcome = await _text(self._cited(at, outcome.value))
        if outcome.kind == "timed_out":
            reason = f"no result within {limit:g} s"
            return "timed_out", f"error: {reason}", reason
        if outcome.kind == "error":
            _log.warning("tool '%s' raised", tool.name, exc_info=outcome.value)
            reason = _named(outcome.value)
            return "failed", f"error: {reason}", reason
        return "done", outcome.value, ""

    def _cited(self, at: int, value: Any) -> Any:
        """Records the sources of a result. Returns its text, and other results as they are."""
        if not isinstance(value, ToolResult):
            return value
        self.records[at] = replace(self.records[at], sources=value.sources)
        return value.text

    def _note_before(self, event: AuditEvent, call: Call, detail: str = "") -> None:
        """Logs a step before the tool runs. Raises `Refused` if that fails: nothing runs without an entry."""
        try:
            self._note(event, call, detail)
        except Exception as error:
            reason = f"the audit log cannot be written: {_named(error)}"
            raise Refused("failed", "error: the call did not start", reason, "refused") from None

    def _note_end(self, event: AuditEvent, call: Call, detail: str = "") -> None:
        try:
            self._note(event, call, detail)
        except Exception:
            _log.exception("the audit log has no entry '%s' of call '%s'", event, call.id)

    def _note(self, event: AuditEvent, call: Call, detail: str = "") -> None:
        tool = self._kit.toolbox.get(call.tool)
        fields = {
            "tool": call.tool[:64],
            "kind": "" if tool is None else tool.kind,
            "call_id": call.id,
            "session_id": self._about.session_id,
            "character": self._kit.character,
            "round": call.round,
            "arguments": call.arguments_json,
        }
        self._kit.audit.add(event, fields, detail)


async def _text(value: Any) -> Outcome:
    """Returns a result as text, on a thread if it may be large."""
    if value is None or isinstance(value, str):
        return Outcome("value", text_of(value))
    return await on_thread(lambda: text_of(value))


def _invalid(reason: str) -> Refused:
    return Refused("failed", f"error: {reason}"[:_LONGEST_ERROR], reason, "refused")


def _named(error: BaseException) -> str:
    if isinstance(error, ResultError):
        return f"invalid result: {error}"[:_LONGEST_ERROR]
    try:
        said = str(error)
    except Exception:
        said = ""
    return f"{type(error).__name__}: {said}"[:_LONGEST_ERROR] if said else type(error).__name__
