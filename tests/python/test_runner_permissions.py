"""Permissions and approvals of the tools of a `Runner`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sotto
from runner_house import chat, said
from runner_script import HI, OPEN, scripted_runners
from sotto.runner import (
    AgentPermission,
    AgentToolApproval,
    AgentToolApprovalDecision,
    AgentToolKind,
    AgentToolSource,
    Runner,
)

Made = Callable[..., Runner]


@pytest.fixture
def made(engine: sotto.Engine) -> Iterator[Made]:
    yield from scripted_runners(engine)


@pytest.mark.row("E-131", "E-132")
def test_permissions(made: Made) -> None:
    ran: list[Any] = []
    runner = made(open=lambda name, arguments: ran.append(arguments) or "opened")
    asked: list[AgentToolApproval] = []
    decisions: list[Any] = [
        True,
        False,
        AgentToolApprovalDecision.approve(),
        AgentToolApprovalDecision.deny("no key"),
        "yes",
    ]

    def approve(about: AgentToolApproval) -> Any:
        asked.append(about)
        return decisions[len(asked) - 1]

    def ask(permission: AgentPermission, **fields: Any) -> str:
        answer = chat(runner, HI, tool_schemas=[OPEN], agent_permission=permission, **fields)
        assert answer.agentic_tool_calls
        return answer.agentic_tool_calls[0].result_content

    assert ask(AgentPermission.Auto) == "opened" and len(ran) == 1
    assert "denied" in ask(AgentPermission.Deny, agent_approval_callback=approve) and asked == []
    assert "denied" in ask(AgentPermission.Ask) and len(ran) == 1
    results = [ask(AgentPermission.Ask, agent_approval_callback=approve, session_id="s") for _ in decisions]
    assert [one == "opened" for one in results] == [True, False, True, False, False]
    assert "no key" in results[3] and len(ran) == 3
    about = asked[0]
    assert (about.session_id, about.round, about.arguments(), about.code) == ("s", 1, {"gate": "north"}, None)
    assert (about.tool.source, about.tool.kind) == (AgentToolSource.User, AgentToolKind.Custom)
    assert about.tool.label == "open" and len({one.approval_id for one in asked}) == 5


@pytest.mark.row("E-671")
def test_a_decision_is_remembered_for_the_session(made: Made) -> None:
    runner = made(open=lambda name, arguments: "opened")
    asked: list[AgentToolApproval] = []

    def ask(session: str, decision: AgentToolApprovalDecision) -> bool:
        def approve(about: AgentToolApproval) -> AgentToolApprovalDecision:
            asked.append(about)
            return decision

        fields = {"agent_permission": AgentPermission.Ask, "agent_approval_callback": approve}
        answer = chat(runner, HI, tool_schemas=[OPEN], session_id=session, **fields)
        assert answer.agentic_tool_calls
        return answer.agentic_tool_calls[0].result_content == "opened"

    assert ask("s", AgentToolApprovalDecision.approve(remember_for_session=True)) and len(asked) == 1
    assert ask("s", AgentToolApprovalDecision.deny()) and len(asked) == 1
    assert not ask("t", AgentToolApprovalDecision.deny()) and len(asked) == 2


def test_an_approval_callback_that_raises(made: Made) -> None:
    ran: list[Any] = []

    def fails(about: AgentToolApproval) -> bool:
        raise RuntimeError("no")

    fields = {"agent_permission": AgentPermission.Ask, "agent_approval_callback": fails}
    answer = chat(made(open=lambda name, arguments: ran.append(1)), HI, tool_schemas=[OPEN], **fields)
    assert ran == [] and said(answer) == "It is open."
