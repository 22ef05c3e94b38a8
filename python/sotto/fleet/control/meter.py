"""`Meter`: what workloads do now, as this process sees it: requests, tokens, and waits for first tokens."""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

WINDOW = 15.0  # seconds over which rates and waits are taken
_SESSION = 300.0  # seconds after its last request for which a session counts
_MAX_SESSIONS = 100_000
_BINS = 48  # of waits; the last one has no upper bound
_FIRST_S, _GROWTH = 0.01, 1.25  # upper bound of the first bin in seconds, and each bound over the one before
_LEARNING = 0.2  # weight of a new sample in the time that a whole answer takes


class Live(NamedTuple):
    """What a workload does now.

    Attributes:
        running: Requests that are being answered.
        waiting: Those of them that have no token yet, and requests that found no replica.
        sessions: Sessions that asked within the last five minutes.
        requests_per_minute: Requests that ended.
        tokens_per_second: Tokens that were generated.
        waits: Number of waits for a first token by bin, those that go on among them; see `quantile()`.
    """

    running: int = 0
    waiting: int = 0
    sessions: int = 0
    requests_per_minute: float = 0.0
    tokens_per_second: float = 0.0
    waits: tuple[int, ...] = ()

    def wait_s(self, share: float) -> float:
        """Returns a quantile of the waits in seconds, within 12 %; 0 without waits."""
        rank, seen = share * sum(self.waits), 0
        for place, count in enumerate(self.waits):
            seen += count
            if seen >= rank and count:
                return float(_FIRST_S * _GROWTH ** (place - 0.5))
        return 0.0


def total(lives: Iterable[Live]) -> Live:
    """Returns the sum of what several processes see."""
    found = list(lives)
    waits = [0] * _BINS
    for live in found:
        for place, count in enumerate(live.waits[:_BINS]):
            waits[place] += count
    return Live(
        running=sum(one.running for one in found),
        waiting=sum(one.waiting for one in found),
        sessions=sum(one.sessions for one in found),
        requests_per_minute=sum(one.requests_per_minute for one in found),
        tokens_per_second=sum(one.tokens_per_second for one in found),
        waits=tuple(waits) if any(waits) else (),
    )


class Measured:
    """A request that is being answered.

    A stream has its first token with its first event. The wait of a whole answer is its duration less the
    time of generation, where the workload's answer has that; while it runs, it counts as waiting once it
    takes longer than the generation of others.
    """

    def __init__(self, meter: Meter, workload_id: str, *, streamed: bool, now: float) -> None:
        self.workload_id, self.streamed, self.began = workload_id, streamed, now
        self.answered = False  # whether a token has come
        self._meter, self._tokens = meter, 0

    def wrote(self, events: int) -> None:
        """Notes events of a stream, which are about as many tokens."""
        if not events or not self.streamed:
            return
        if not self.answered:
            self.answered = True
            self._meter.waited(self, self._meter.now() - self.began)
        self._tokens += events
        self._meter.generated(self, events)

    def end(self, tokens: int, generation_s: float | None) -> None:
        """Notes the end. A second call does nothing.

        Args:
            tokens: Tokens of the answer.
            generation_s: Seconds from its first token to its last; None: the answer does not have them.
        """
        if self._meter.ended(self, None if self.streamed else generation_s):
            self._meter.generated(self, tokens - self._tokens)


@dataclass
class _Second:
    """What one workload did in one second."""

    requests: int = 0
    tokens: int = 0
    missed: int = 0  # requests that found no replica
    waits: Counter[int] = field(default_factory=Counter)


class Meter:
    """Measures the requests of one process. Nothing is stored."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.now = clock
        self._running: defaultdict[str, set[Measured]] = defaultdict(set)
        self._seconds: deque[tuple[int, defaultdict[str, _Second]]] = deque()
        self._sessions: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._generation: dict[str, float] = {}  # seconds of generation of a whole answer, by workload

    def began(self, workload_id: str, session: str | None = None, *, streamed: bool = False) -> Measured:
        """Notes the begin of a request."""
        made = Measured(self, workload_id, streamed=streamed, now=self.now())
        self._running[workload_id].add(made)
        if session is not None:
            key = (workload_id, session)
            self._sessions[key] = made.began
            self._sessions.move_to_end(key)
            if len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return made

    def missed(self, workload_id: str) -> None:
        """Notes a request that found no replica; its client asks again."""
        self._second(workload_id).missed += 1

    def waited(self, one: Measured, seconds: float) -> None:
        """Notes the wait of a request for its first token."""
        self._second(one.workload_id).waits[_bin(seconds)] += 1

    def generated(self, one: Measured, tokens: int) -> None:
        """Notes tokens of a request."""
        self._second(one.workload_id).tokens += tokens

    def ended(self, one: Measured, generation_s: float | None) -> bool:
        """Notes the end of a request. Returns False if it had ended.

        Args:
            one: The request.
            generation_s: For a whole answer, the time of its generation if it is known.
        """
        if one not in self._running[one.workload_id]:
            return False
        self._running[one.workload_id].discard(one)
        self._second(one.workload_id).requests += 1
        if generation_s is not None:
            before = self._generation.get(one.workload_id, generation_s)
            self._generation[one.workload_id] = before + _LEARNING * (generation_s - before)
            self.waited(one, max(0.0, self.now() - one.began - generation_s))
        return True

    def live(self) -> Mapping[str, Live]:
        """Returns the figures of each workload that is in use, by its id."""
        now = self.now()
        self._drop(now)
        while self._sessions and next(iter(self._sessions.values())) < now - _SESSION:
            self._sessions.popitem(last=False)
        sessions = Counter(id for id, _ in self._sessions)
        used = {id for _, sums in self._seconds for id in sums}
        running = {id for id, requests in self._running.items() if requests}
        for id in set(self._running) - running:
            del self._running[id]
        self._generation = {
            id: value for id, value in self._generation.items() if id in used | running | {*sessions}
        }
        return {id: self._live(id, sessions[id], now) for id in {*used, *running, *sessions}}

    def _live(self, id: str, sessions: int, now: float) -> Live:
        sums = [found[id] for _, found in self._seconds if id in found]
        waits: Counter[int] = Counter()
        for second in sums:
            waits.update(second.waits)
        going_on = [wait for one in self._running.get(id, ()) if (wait := self._wait(one, now)) is not None]
        waits.update(_bin(wait) for wait in going_on)
        return Live(
            running=len(self._running.get(id, ())),
            waiting=len(going_on) + sum(one.missed for one in sums),
            sessions=sessions,
            requests_per_minute=60 * sum(one.requests for one in sums) / WINDOW,
            tokens_per_second=max(0, sum(one.tokens for one in sums)) / WINDOW,
            waits=tuple(waits[place] for place in range(_BINS)) if waits else (),
        )

    def _wait(self, one: Measured, now: float) -> float | None:
        """Returns how long a request has waited for its first token; None: it does not wait."""
        elapsed = max(0.0, now - one.began)
        if one.streamed:
            return None if one.answered else elapsed
        usual = self._generation.get(one.workload_id)
        return elapsed - usual if usual is not None and elapsed > usual else None

    def _second(self, workload_id: str) -> _Second:
        now = int(self.now())
        if not self._seconds or self._seconds[-1][0] != now:
            self._drop(now)
            self._seconds.append((now, defaultdict(_Second)))
        return self._seconds[-1][1][workload_id]

    def _drop(self, now: float) -> None:
        if self._seconds and self._seconds[-1][0] > now + 1:  # the clock was set back
            self._seconds.clear()
        while self._seconds and self._seconds[0][0] <= now - WINDOW:
            self._seconds.popleft()


def _bin(seconds: float) -> int:
    """Returns the bin of a wait: the first whose upper bound is not below it."""
    if seconds <= _FIRST_S:
        return 0
    return min(_BINS - 1, math.ceil(math.log(seconds / _FIRST_S, _GROWTH)))
