"""`ToolOptions`: the rules for a tool."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, TypedDict, get_args

from .._values import invalid, wrong_type
from ..errors import ArgumentError
from ..terms import Priority

Permission = Literal["auto", "ask", "deny"]


class ToolOptions(TypedDict, total=False):
    """Keyword arguments of `tool()` and `Tool.from_schema()`. All are optional.

    `kind`: Kind of the tool, any word; `Permissions(kinds=)` has permissions for kinds. Default: "custom".

    `permission`: "auto", "ask" or "deny", see `Permissions`.

    `time_limit`: Longest time that a call may take, in seconds; None, the default: that of the agent.

    `read_only`: True: the tool changes nothing, so it may run after text of others was read.

    `untrusted`: True: its results hold text that others wrote, such as books, files or web pages. From then
    on `Permissions(after_untrusted=)` applies.

    `priorities`: Priorities of turns in which the tool may be called; None, the default: all.

    `characters`: Names of the characters that may call the tool; None, the default: all.
    """

    kind: str
    permission: Permission | None
    time_limit: float | None
    read_only: bool
    untrusted: bool
    priorities: Collection[Priority] | None
    characters: Collection[str] | None


def permission_of(name: str, value: Any) -> Permission:
    """Returns a permission as it is. Raises `ArgumentError` or `TypeError` that names the parameter."""
    if not isinstance(value, str):
        raise wrong_type(name, value, '"auto", "ask" or "deny"')
    if value not in get_args(Permission):
        raise ArgumentError(invalid(name, value, '"auto", "ask" or "deny"'))
    return value  # type: ignore[return-value]
