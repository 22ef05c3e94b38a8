"""A game reduced to what matters here: a fixed amount of work per frame, 60 times a second."""

from __future__ import annotations

import statistics
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

PERIOD = 1 / 60
WORK_MS = 8.0
_BLOCK = bytes(range(256)) * 64


def _spin(rounds: int) -> None:
    value = 0
    for _ in range(rounds):
        value = zlib.crc32(_BLOCK, value)


def calibrate(work_ms: float = WORK_MS) -> int:
    """How many rounds of work take `work_ms` of CPU time here. Takes about half a second."""
    rounds, times = 256, []
    for _ in range(40):
        began = time.thread_time()
        _spin(rounds)
        times.append((time.thread_time() - began) / rounds)
    return max(1, round(work_ms / 1000 / statistics.median(times)))


@dataclass
class FrameStats:
    """Frame times in milliseconds: from the moment a frame was due to the end of its work."""

    times_ms: list[float] = field(default_factory=list)
    due: list[float] = field(default_factory=list)  # when each was, in seconds of `time.perf_counter()`
    missed: int = 0

    @property
    def frames(self) -> int:
        """How many frames ran."""
        return len(self.times_ms)

    @property
    def seconds(self) -> float:
        """How long they ran."""
        return self.due[-1] - self.due[0] + PERIOD if self.due else 0.0

    def take(self, due: float, done: float) -> int:
        """Takes in a frame. Returns how many of those after it can no longer begin when they are due."""
        late = int((done - due) / PERIOD)
        self.times_ms.append((done - due) * 1000)
        self.due.append(due)
        self.missed += late > 0
        return late

    @property
    def missed_pct(self) -> float:
        """Percent of the frames that were not done when the next one was due."""
        return round(100 * self.missed / self.frames, 3) if self.frames else 0.0

    def percentiles(self) -> dict[str, float]:
        """p50, p95, p99, p999 and max, by the nearest rank."""
        ordered = sorted(self.times_ms)
        if not ordered:
            return dict.fromkeys(("p50", "p95", "p99", "p999", "max"), 0.0)
        ranks = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}
        last = len(ordered) - 1
        return {name: round(ordered[min(last, int(rank * len(ordered)))], 3) for name, rank in ranks.items()}

    def add(self, other: FrameStats) -> None:
        """Takes in the frames of another run."""
        self.times_ms += other.times_ms
        self.due += other.due
        self.missed += other.missed


def run(
    rounds: int,
    seconds: float,
    *,
    begin: Callable[[], None] = lambda: None,
    end: Callable[[float], None] = lambda slack: None,
    going: Callable[[], bool] = lambda: True,
    stats: FrameStats | None = None,
) -> FrameStats:
    """Runs frames for `seconds`, while `going()`: `begin()`, the work, then `end(seconds that are left)`.

    A frame that is late is missed; the next one starts where the display would start it. `stats` is what to
    count in, for who wants to see it meanwhile.
    """
    stats = FrameStats() if stats is None else stats
    due = time.perf_counter() + PERIOD
    stop = due + seconds
    while due < stop and going():
        while (wait := due - time.perf_counter()) > 0:
            time.sleep(wait)
        begin()
        _spin(rounds)
        due += (1 + stats.take(due, time.perf_counter())) * PERIOD
        end(due - time.perf_counter())
    return stats
