"""`CallContext`: what a tool may know about the call that it runs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from ..terms import Priority


@dataclass(frozen=True)
class CallContext:
    """The call that a tool runs. A tool with a parameter of this type gets it; the model does not see it.

    Attributes:
        tool: Name of the tool.
        call_id: Id of the call.
        session_id: Id of the session.
        character: Name of the character that calls.
        round: Number of the round in its turn, from 1.
        priority: Priority of the turn.
    """

    tool: str
    call_id: str = ""
    session_id: str = ""
    character: str = ""
    round: int = 1
    priority: Priority = "normal"
    _ended: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    @property
    def cancelled(self) -> bool:
        """True if the result is not needed any more: the turn was cancelled, or the time limit has passed.

        A function that takes long asks for it now and then, and returns early. It may be called on any
        thread.
        """
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleeps, at most until the call is cancelled. Returns True if it was."""
        return self._ended.wait(seconds)

    def end(self) -> None:
        """Marks the call as cancelled."""
        self._ended.set()
