"""`ApprovalRequest` and `Decision`: what an approval callback gets, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .._values import invalid
from ..errors import ArgumentError
from ..terms import Priority

Remember = Literal["never", "arguments", "tool"]


@dataclass(frozen=True)
class ApprovalRequest:
    """What is about to happen, who asks for it, and why.

    Attributes:
        id: Id of the request.
        tool: Name of the tool.
        kind: Kind of the tool.
        source: Where the tool comes from: "function", "schema", "dispatch", "search", "sandbox" or "mcp".
        description: What the tool does.
        arguments: The arguments, as the tool gets them from the model.
        arguments_json: The arguments as JSON with sorted keys.
        character: Name of the character that calls.
        session_id: Id of the session.
        round: Number of the round in its turn, from 1.
        priority: Priority of the turn.
        said: The words that the character answers.
        text: What the character said before the call, in the same round.
        reason: Which rule requires the approval.
    """

    id: str
    tool: str
    kind: str
    source: str
    description: str
    arguments: Mapping[str, Any]
    arguments_json: str
    character: str
    session_id: str
    round: int
    priority: Priority
    said: str
    text: str
    reason: str


@dataclass(frozen=True)
class Decision:
    """The answer of an approval callback. True and False are short for `approve()` and `deny()`.

    Attributes:
        allowed: True: the call runs.
        remember: For which later calls of the session the decision holds: "never" (this call alone),
            "arguments" (the same tool with the same arguments), or "tool".
        message: Text that the model gets if the call is denied, for example "the gate has no key".
    """

    allowed: bool
    remember: Remember = "never"
    message: str = ""

    def __post_init__(self) -> None:
        if self.remember not in get_args(Remember):
            raise ArgumentError(invalid("remember", self.remember, '"never", "arguments" or "tool"'))

    @classmethod
    def approve(cls, remember: Remember = "never") -> Decision:
        """Allows the call."""
        return cls(True, remember)

    @classmethod
    def deny(cls, message: str = "", remember: Remember = "never") -> Decision:
        """Refuses the call. `message` is what the model gets."""
        return cls(False, remember, message)
