"""`Refusals`: which requests this process refused, and why."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .errors import Refusal

_MAX_KINDS = 1000  # of all projects
_MAX_NAME = 63  # characters of a slug
_MAX_MESSAGE = 300  # characters


class Refusals:
    """Counts refused requests by workload and reason. Nothing is stored."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kinds: OrderedDict[tuple[str, str, int, str], dict[str, Any]] = OrderedDict()

    def add(self, project: str, workload: str, refusal: Refusal) -> None:
        """Notes a request that was refused."""
        key = (project[:_MAX_NAME], workload[:_MAX_NAME], refusal.status, refusal.code)
        found = self._kinds.setdefault(key, {"count": 0})
        found.update(count=found["count"] + 1, at=self._clock(), message=str(refusal)[:_MAX_MESSAGE])
        self._kinds.move_to_end(key)
        if len(self._kinds) > _MAX_KINDS:
            self._kinds.popitem(last=False)

    def of(self, project: str) -> list[dict[str, Any]]:
        """Returns the refused requests of a project by reason, the latest first."""
        return [
            {"workload": workload, "status": status, "code": code, **found}
            for (owner, workload, status, code), found in reversed(self._kinds.items())
            if owner == project
        ]
