"""`Permissions`: which tools run at once, which ask first, and which never run."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping

from .._handle import Unique
from .._values import invalid, number, wrong_type
from ..errors import ArgumentError
from .approval import ApprovalRequest, Decision
from .options import Permission, permission_of
from .tool import Tool

Approver = Callable[[ApprovalRequest], "bool | Decision | Awaitable[bool | Decision]"]

_STRICTNESS: Mapping[Permission, int] = {"auto": 0, "ask": 1, "deny": 2}


class Permissions(Unique):
    """Decides about each call before it runs. May serve several agents; decisions are kept by session.

    The permission of a tool is its entry in `tools`; without one, the strictest of its own and that of its
    kind in `kinds`; without these, `default`. "auto" runs the call, "deny" refuses it, and "ask" calls
    `approve`, and refuses the call if there is no such callback, if it raises, if it returns anything but
    True or a `Decision`, or if it takes longer than `time_limit`.

    Args:
        default: Permission of tools that have none.
        tools: Permissions by name of the tool.
        kinds: Permissions by kind of tools.
        approve: Called on a thread, or awaited if it is a coroutine function; one call at a time.
        time_limit: Longest wait for `approve`, in seconds.
        after_untrusted: Minimum strictness for tools that are not `read_only`, once the session holds a
            result of an `untrusted` tool: text of others, which may contain orders to the model.
    """

    def __init__(
        self,
        default: Permission = "auto",
        *,
        tools: Mapping[str, Permission] | None = None,
        kinds: Mapping[str, Permission] | None = None,
        approve: Approver | None = None,
        time_limit: float = 120.0,
        after_untrusted: Permission = "ask",
    ) -> None:
        if approve is not None and not callable(approve):
            raise wrong_type("approve", approve, "a function or None")
        self.default = permission_of("default", default)
        self.tools = {name: permission_of(f"tools['{name}']", one) for name, one in (tools or {}).items()}
        self.kinds = {name: permission_of(f"kinds['{name}']", one) for name, one in (kinds or {}).items()}
        self.approve = approve
        self.time_limit = number("time_limit", time_limit)
        if self.time_limit <= 0:
            raise ArgumentError(invalid("time_limit", time_limit, "a positive number of seconds"))
        self.after_untrusted = permission_of("after_untrusted", after_untrusted)
        self._remembered: dict[tuple[str, str, str], Decision] = {}  # by session, tool and arguments
        self._untrusted: dict[str, str] = {}  # by session: the untrusted tool
        self._lock = threading.Lock()  # guards both

    def of(self, tool: Tool, session_id: str = "") -> tuple[Permission, str]:
        """Returns the permission of a tool in a session, and the reason for it."""
        found, why = self._own(tool)
        with self._lock:
            source = self._untrusted.get(session_id)
        stricter = _STRICTNESS[self.after_untrusted] > _STRICTNESS[found]
        if source is None or tool.read_only or not stricter:
            return found, why
        return self.after_untrusted, f"the session holds a result of '{source}', which is text of others"

    def _own(self, tool: Tool) -> tuple[Permission, str]:
        if tool.name in self.tools:
            return self.tools[tool.name], f"permission of tool '{tool.name}'"
        known = [
            (tool.permission, f"permission of tool '{tool.name}'"),
            (self.kinds.get(tool.kind), f"permission of kind '{tool.kind}'"),
        ]
        given = [(one, why) for one, why in known if one is not None]
        if not given:
            return self.default, "default permission"
        return max(given, key=lambda one: _STRICTNESS[one[0]])

    def remembered(self, request: ApprovalRequest) -> Decision | None:
        """Returns the decision that was remembered in the session for such a call; None: ask."""
        with self._lock:
            for arguments in (request.arguments_json, ""):
                key = (request.session_id, request.tool, arguments)
                if (found := self._remembered.get(key)) is not None:
                    return found
        return None

    def remember(self, request: ApprovalRequest, decision: Decision) -> None:
        """Keeps a decision until `forget()`, as its `remember` says."""
        if decision.remember == "never":
            return
        arguments = request.arguments_json if decision.remember == "arguments" else ""
        with self._lock:
            self._remembered[request.session_id, request.tool, arguments] = decision

    def distrust(self, session_id: str, tool: str) -> None:
        """Applies `after_untrusted` to a session, which holds text of others."""
        with self._lock:
            self._untrusted.setdefault(session_id, tool)

    def forget(self, session_id: str | None = None) -> None:
        """Forgets remembered decisions and untrusted results of a session; None: of all sessions."""
        with self._lock:
            if session_id is None:
                self._remembered.clear()
                self._untrusted.clear()
                return
            self._untrusted.pop(session_id, None)
            for key in [one for one in self._remembered if one[0] == session_id]:
                del self._remembered[key]
