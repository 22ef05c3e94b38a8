"""Live figures of a gateway: rates of the last minute, sessions of the last five, and refused requests."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .errors import Refusal

RATE = 60  # seconds over which rates are taken
_SESSION = 300.0  # seconds after its last request for which a session counts
_MAX_SESSIONS = 100_000
_MAX_REFUSALS = 1000  # kinds, of all projects
_MAX_NAME = 63  # characters of a slug
_MAX_MESSAGE = 300  # characters


class Live(NamedTuple):
    """What a workload does now."""

    running: int = 0
    sessions: int = 0
    requests_per_minute: float = 0.0
    tokens_per_second: float = 0.0


class Figures:
    """The figures of one process. Nothing is stored."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._running: Counter[str] = Counter()
        self._seconds: deque[tuple[int, dict[str, list[int]]]] = deque()  # requests and tokens by workload
        self._sessions: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._refusals: OrderedDict[tuple[str, str, int, str], dict[str, Any]] = OrderedDict()

    def began(self, workload_id: str, session: str | None) -> None:
        """Notes the begin of a request."""
        self._running[workload_id] += 1
        if session is not None:
            key = (workload_id, session)
            self._sessions[key] = self._clock()
            self._sessions.move_to_end(key)
            if len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)

    def ended(self, workload_id: str, tokens: int) -> None:
        """Notes the end of a request, and the tokens of its answer."""
        self._running[workload_id] -= 1
        if not self._running[workload_id]:
            del self._running[workload_id]
        second = int(self._clock())
        if not self._seconds or self._seconds[-1][0] != second:
            self._drop()
            self._seconds.append((second, defaultdict(lambda: [0, 0])))
        sums = self._seconds[-1][1][workload_id]
        sums[0] += 1
        sums[1] += tokens

    def refused(self, project: str, workload: str, refusal: Refusal) -> None:
        """Notes a request that was refused."""
        key = (project[:_MAX_NAME], workload[:_MAX_NAME], refusal.status, refusal.code)
        found = self._refusals.setdefault(key, {"count": 0})
        found.update(count=found["count"] + 1, at=self._clock(), message=str(refusal)[:_MAX_MESSAGE])
        self._refusals.move_to_end(key)
        if len(self._refusals) > _MAX_REFUSALS:
            self._refusals.popitem(last=False)

    def live(self) -> Mapping[str, Live]:
        """Returns the figures of each workload that is in use, by its id."""
        self._drop()
        oldest = self._clock() - _SESSION
        while self._sessions and next(iter(self._sessions.values())) < oldest:
            self._sessions.popitem(last=False)
        sessions = Counter(id for id, _ in self._sessions)
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for _, counts in self._seconds:
            for id, (requests, tokens) in counts.items():
                sums[id][0] += requests
                sums[id][1] += tokens
        self._running = +self._running
        return {
            id: Live(self._running[id], sessions[id], 60 * sums[id][0] / RATE, sums[id][1] / RATE)
            for id in {*self._running, *sessions, *sums}
        }

    def refusals(self, project: str) -> list[dict[str, Any]]:
        """Returns the refused requests of a project by reason, the latest first."""
        return [
            {"workload": workload, "status": status, "code": code, **found}
            for (owner, workload, status, code), found in reversed(self._refusals.items())
            if owner == project
        ]

    def _drop(self) -> None:
        while self._seconds and self._seconds[0][0] <= self._clock() - RATE:
            self._seconds.popleft()
