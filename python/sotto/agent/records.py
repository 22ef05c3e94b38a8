"""Records of a turn: `Call`, `Round` and `Answer`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .._values import wrong_type
from ..completion import Usage
from ..event import FinishReason
from .options import Permission

NO_USAGE = Usage()
CallStatus = Literal["running", "done", "failed", "denied", "timed_out", "cancelled"]


@dataclass(frozen=True)
class Source:
    """A source that a result cites.

    Attributes:
        number: Number of the citation, from 1.
        title: Title; empty: none.
        url: Where it is: a URL, or the name and line of a file; empty: none.
    """

    number: int
    title: str
    url: str


@dataclass(frozen=True)
class ToolResult:
    """What a tool may return: the text for the model, and the sources that it cites, for `Call.sources`.

    Attributes:
        text: Text for the model.
        sources: What the text cites.
    """

    text: str
    sources: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise wrong_type("text", self.text, "a str")
        object.__setattr__(self, "sources", tuple(self.sources))
        for one in self.sources:
            if not isinstance(one, Source):
                raise wrong_type("sources", one, "Sources of sotto.agent")


@dataclass(frozen=True)
class Call:
    """One call of a tool.

    Attributes:
        id: Id of the call.
        tool: Name of the tool, as the model wrote it.
        arguments: The arguments; empty if they are not a JSON object.
        arguments_json: The arguments as the model wrote them.
        round: Number of the round in its turn, from 1.
        status: "running" in a stream, then "done", "failed" (unknown tool, invalid arguments, or the tool
            raised), "denied", "timed_out" or "cancelled".
        result: Text that the model got.
        reason: Why the call was denied, or why it failed.
        permission: Permission that applied; None: the call was refused before.
        seconds: Time that the tool ran.
        truncated: True if the result was longer than `max_result`.
        sources: What the result cites, such as the hits of a search.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    arguments_json: str
    round: int
    status: CallStatus = "running"
    result: str = ""
    reason: str = ""
    permission: Permission | None = None
    seconds: float = 0.0
    truncated: bool = False
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True)
class Round:
    """One answer of the model, and the calls that it made.

    Attributes:
        number: Number in the turn, from 1.
        text: What the model said.
        reasoning: What it generated before.
        calls: Its calls, in its order.
        finish_reason: Why the answer ended.
        usage: Token counts of the answer.
    """

    number: int
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish_reason: FinishReason = ""
    usage: Usage = NO_USAGE


@dataclass(frozen=True)
class Answer:
    """The answer of a turn.

    Attributes:
        text: Text of the last round.
        finish_reason: Why the last round ended.
        rounds: All rounds; the last one has no calls.
        usage: Token counts of all rounds together.
        capped: True if the model was kept from further calls by `max_tool_rounds`.
    """

    text: str
    finish_reason: FinishReason
    rounds: tuple[Round, ...]
    usage: Usage
    capped: bool = False

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of all rounds."""
        return tuple(call for one in self.rounds for call in one.calls)
