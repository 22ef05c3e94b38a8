"""Frames: keeps the pace of 60 per second, and measures what they cost."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import TracebackType

PERIOD = 1 / 60


class Stopwatch:
    """Adds up the processor time that this thread uses in `with` blocks."""

    def __init__(self) -> None:
        self._used = 0.0

    def __enter__(self) -> Stopwatch:
        self._began = time.thread_time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._used += time.thread_time() - self._began

    def take(self) -> float:
        """Returns the seconds since the last call of `take()`."""
        taken, self._used = self._used, 0.0
        return taken


@dataclass
class Meter:
    """Waits for each frame's time, and keeps what the frames took, in milliseconds."""

    work_ms: list[float] = field(default_factory=list)  # on the wall, from the frame's due time
    own_ms: list[float] = field(default_factory=list)  # processor time without the calls of the engine
    sotto_ms: list[float] = field(default_factory=list)  # processor time of the calls of the engine
    missed: int = 0
    calls: Stopwatch = field(default_factory=Stopwatch)  # for `with` around each call of the engine
    late: bool = False  # the last frame was missed
    _due: float = 0.0
    _cpu: float = 0.0

    @property
    def frames(self) -> int:
        """Number of frames so far."""
        return len(self.work_ms)

    def start(self) -> None:
        """Counts the first frame from now."""
        self._due = time.perf_counter() + PERIOD

    def wait(self) -> None:
        """Sleeps until the next frame is due."""
        while (left := self._due - time.perf_counter()) > 0:
            time.sleep(left)
        self.calls.take()
        self._cpu = time.thread_time()

    def end(self) -> None:
        """Ends the frame. It is missed if the next one was due before."""
        cpu, done = time.thread_time() - self._cpu, time.perf_counter()
        calls = self.calls.take()
        behind = int((done - self._due) / PERIOD)
        self.late = behind > 0
        self.missed += self.late
        self.work_ms.append((done - self._due) * 1000)
        self.own_ms.append((cpu - calls) * 1000)
        self.sotto_ms.append(calls * 1000)
        self._due += (1 + behind) * PERIOD

    def report(self) -> dict[str, float]:
        """Returns the figures of all frames."""
        count = max(1, self.frames)
        return {
            "frames": self.frames,
            "missed": self.missed,
            "missed_pct": round(100 * self.missed / count, 3),
            "own_cpu_ms": round(sum(self.own_ms) / count, 3),
            "own_cpu_p50_ms": _rank(self.own_ms, 0.5),
            "own_cpu_p99_ms": _rank(self.own_ms, 0.99),
            "sotto_cpu_ms": round(sum(self.sotto_ms) / count, 4),
            "work_p50_ms": _rank(self.work_ms, 0.5),
            "work_p99_ms": _rank(self.work_ms, 0.99),
        }


def _rank(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 3) if ordered else 0.0
