"""Permissions and approvals of a request's tools, as `sotto.agent` takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..agent import ApprovalRequest, Decision, Permission, Permissions
from . import coding
from .agents import (
    AgentPermission,
    AgentToolApproval,
    AgentToolApprovalDecision,
    AgentToolApprovalDecisionKind,
    AgentToolKind,
    AgentToolMetadata,
    AgentToolSource,
)
from .coding import CodeExecution
from .requests import ChatCompletionRequest
from .sessions import StoredSession
from .tools import CodeExecutionPermission

_SOURCES = {
    "dispatch": (AgentToolSource.External, AgentToolKind.External),
    "mcp": (AgentToolSource.Mcp, AgentToolKind.External),
    "sandbox": (AgentToolSource.BuiltIn, AgentToolKind.CodeExecution),
    "search": (AgentToolSource.BuiltIn, AgentToolKind.WebSearch),
}
_USER = (AgentToolSource.User, AgentToolKind.Custom)
_STRICTNESS: tuple[Permission, ...] = ("auto", "ask", "deny")
Callback = Callable[[AgentToolApproval], object]


def permissions(
    request: ChatCompletionRequest, stored: StoredSession, code: CodeExecution | None
) -> Permissions:
    """Returns the rules for the tools of a request, with what the session remembers.

    Without `agent_permission`, tools run, and ask once the session holds text of others. The permission of
    code is the stricter one of the runner's and the request's.
    """

    def approve(asked: ApprovalRequest) -> Decision:
        if asked.tool in stored.remembered:
            return stored.remembered[asked.tool]
        callback = _callback(request, asked, code)
        if callback is None:
            return Decision.deny("no approval callback")
        decision = _decision(callback(_approval(asked, stored.id)))
        if decision.remember == "tool":
            stored.remembered[asked.tool] = decision
        return decision

    default = _permission(request.agent_permission)
    sure = request.agent_permission is AgentPermission.Auto
    return Permissions(
        default,
        tools=_rules_of_code(request, code),
        approve=approve,
        after_untrusted="auto" if sure else "ask",
    )


def _rules_of_code(
    request: ChatCompletionRequest, code: CodeExecution | None
) -> Mapping[str, Permission] | None:
    if code is None or not request.enable_code_execution:
        return None
    own = request.code_execution_permission
    wanted = _permission(request.agent_permission if own is None else own)
    return {coding.NAME: _strictest(code.permission, wanted)}


def _permission(given: AgentPermission | CodeExecutionPermission | None) -> Permission:
    kinds: Mapping[str, Permission] = {one: one for one in _STRICTNESS}
    return "auto" if given is None else kinds[given.value]


def _strictest(*given: Permission) -> Permission:
    return max(given, key=_STRICTNESS.index)


def _callback(
    request: ChatCompletionRequest, asked: ApprovalRequest, code: CodeExecution | None
) -> Callback | None:
    """Returns what decides about a call: the callback of the request, else that of code execution."""
    if request.agent_approval_callback is not None or code is None or asked.source != "sandbox":
        return request.agent_approval_callback
    own = code.approval_callback
    return None if own is None else lambda about: own(_as_dict(about))


def _as_dict(about: AgentToolApproval) -> dict[str, object]:
    """Returns what the callback of `CodeExecutionConfig` gets."""
    return {
        "approval_id": about.approval_id,
        "session_id": about.session_id,
        "round": about.round,
        "tool": about.tool.label,
        "arguments": about.arguments(),
        "code": about.code,
    }


def _approval(asked: ApprovalRequest, session_id: str) -> AgentToolApproval:
    source, kind = _SOURCES.get(asked.source, _USER)
    about = AgentToolMetadata(source, kind, asked.tool)
    code = asked.arguments.get("code") if kind is AgentToolKind.CodeExecution else None
    return AgentToolApproval(asked.id, session_id, asked.round, about, asked.arguments_json, code)


def _decision(given: object) -> Decision:
    if isinstance(given, AgentToolApprovalDecision):
        remember = "tool" if given.remember_for_session else "never"
        if given.decision is AgentToolApprovalDecisionKind.Approve:
            return Decision(True, remember)  # type: ignore[arg-type]
        return Decision(False, remember, given.message or "")  # type: ignore[arg-type]
    if isinstance(given, bool):
        return Decision(given)
    raise TypeError(f"expected True, False or an AgentToolApprovalDecision, not {type(given).__name__}")
