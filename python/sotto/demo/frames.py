"""A simulated game: does a fixed amount of CPU work per frame at 60 frames per second."""

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
    """Returns the number of work rounds that take `work_ms` of CPU time here. Runs for about 0.5 s."""
    rounds, times = 256, []
    for _ in range(40):
        began = time.thread_time()
        _spin(rounds)
        times.append((time.thread_time() - began) / rounds)
    return max(1, round(work_ms / 1000 / statistics.median(times)))


@dataclass
class FrameStats:
    """Frame times in milliseconds, each from the time when the frame was due to the end of its work."""

    times_ms: list[float] = field(default_factory=list)
    due: list[float] = field(default_factory=list)  # due times, in seconds of `time.perf_counter()`
    missed: int = 0

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.times_ms)

    @property
    def seconds(self) -> float:
        """Duration of the run in seconds."""
        return self.due[-1] - self.due[0] + PERIOD if self.due else 0.0

    def take(self, due: float, done: float) -> int:
        """Adds a frame. Returns the number of following frames whose start it missed."""
        late = int((done - due) / PERIOD)
        self.times_ms.append((done - due) * 1000)
        self.due.append(due)
        self.missed += late > 0
        return late

    @property
    def missed_pct(self) -> float:
        """Percentage of frames that were not done when the next frame was due."""
        return round(100 * self.missed / self.frames, 3) if self.frames else 0.0

    def percentiles(self) -> dict[str, float]:
        """Returns p50, p95, p99, p999 and max of the frame times in ms, by nearest rank."""
        ordered = sorted(self.times_ms)
        if not ordered:
            return dict.fromkeys(("p50", "p95", "p99", "p999", "max"), 0.0)
        ranks = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}
        last = len(ordered) - 1
        return {name: round(ordered[min(last, int(rank * len(ordered)))], 3) for name, rank in ranks.items()}

    def add(self, other: FrameStats) -> None:
        """Adds the frames of another run."""
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
    """Runs frames for `seconds`, or until `going()` returns false. Returns the frame statistics.

    Each frame calls `begin()`, does the work, then calls `end(slack)` with the seconds left until the next
    frame is due. A late frame counts as missed, and the next frame starts at the next display refresh.

    Args:
        rounds: work per frame, from `calibrate()`.
        seconds: duration.
        begin: called at the start of each frame.
        end: called after the work of each frame.
        going: the run ends when it returns false.
        stats: statistics to add the frames to, which the caller can read during the run. None: new ones.
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
