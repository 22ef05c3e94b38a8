"""`Kit`: the tools of an agent and the rules for them, which all of its turns share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .._values import invalid, number, string, truth, typed, whole, wrong_type
from ..errors import ArgumentError
from .audit import AuditLog
from .permissions import Permissions
from .results import Marker
from .toolbox import Toolbox

MAX_ROUNDS = 8
TIME_LIMIT = 30.0  # seconds
MAX_RESULT = 8192  # characters
_MOST_ROUNDS = 256
_MOST_RESULT = 1 << 24


@dataclass(frozen=True)
class Kit:
    """Arguments of `Agent`, checked. `marker` and `min_call_probability` None: chosen by the model."""

    toolbox: Toolbox
    permissions: Permissions
    audit: AuditLog
    character: str
    max_tool_rounds: int
    concurrent: bool
    time_limit: float
    max_result: int
    marker: Marker | None
    min_call_probability: float | None


def make_kit(
    tools: Iterable[Any],
    permissions: Permissions | None,
    audit: AuditLog | None,
    character: str,
    max_tool_rounds: int,
    concurrent: bool,
    time_limit: float,
    max_result: int,
    marker: Marker | None,
    min_call_probability: float | None,
) -> Kit:
    """Checks the arguments of `Agent`."""
    if permissions is not None:
        typed("permissions", permissions, Permissions)
    if audit is not None:
        typed("audit", audit, AuditLog)
    if marker is not None and not callable(marker):
        raise wrong_type("marker", marker, "a function or None")
    if number("time_limit", time_limit) <= 0:
        raise ArgumentError(invalid("time_limit", time_limit, "a positive number of seconds"))
    if whole("max_result", max_result, _MOST_RESULT) < 64:
        raise ArgumentError(invalid("max_result", max_result, "at least 64 characters"))
    if min_call_probability is not None and number("min_call_probability", min_call_probability) > 1:
        raise ArgumentError(invalid("min_call_probability", min_call_probability, "a number from 0 to 1"))
    return Kit(
        Toolbox(tools),
        Permissions() if permissions is None else permissions,
        AuditLog() if audit is None else audit,
        string("character", character),
        whole("max_tool_rounds", max_tool_rounds, _MOST_ROUNDS),
        truth("concurrent", concurrent),
        float(time_limit),
        max_result,
        marker,
        min_call_probability,
    )
