"""Checks the arguments of a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._values import wrong_type
from ..errors import ArgumentError
from ..terms import terms


def turn_fields(request: Mapping[str, Any] | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of the requests of a turn, and checks its `RequestOptions`."""
    if request is not None and not isinstance(request, Mapping):
        raise wrong_type("request", request, "a mapping of further fields")
    terms(options)
    fields = dict(request or {})
    if "tools" in fields:
        raise ArgumentError("invalid request field 'tools': expected none; pass tools to the agent")
    return fields
