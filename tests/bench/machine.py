"""Whether the machine is at rest: a run during which others used the processors says little."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

MOST_OTHERS_PCT = 4.0  # of all processors' time, used by others during a run
MOST_OTHERS_TO_GO_ON_PCT = 20.0  # a run during which it is more is ended

Result = TypeVar("Result")


class Disturbed(Exception):
    """Others take so much of the processors that a run says nothing, and may last for minutes."""


class Busy:
    """How much of the processors' time went to others than the commands run in between."""

    def __init__(self) -> None:
        self.began, self.own, self.busy = time.monotonic(), own_seconds(), busy_seconds()

    def others_pct(self, running: float = 0.0) -> float:
        """So far, of all processors; `running` seconds are those of a child that has not ended."""
        passed = (time.monotonic() - self.began) * (os.cpu_count() or 1)
        others = busy_seconds() - self.busy - (own_seconds() - self.own) - running
        return max(0.0, 100 * others / passed)


def busy_seconds() -> float:
    """Seconds that processors have worked since the machine started; 0 where it cannot be known."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return own_seconds()
    user, nice, system, _, _, irq, soft, steal = map(int, stat.read_text().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """Seconds that this process and its children have worked."""
    return sum(os.times()[:4])


def seconds_of(process: int) -> float:
    """Seconds that a running child has worked."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_rest(end: float, most_pct: float = MOST_OTHERS_PCT) -> None:
    """Until others leave the processors alone for a second, or patience is at an end."""
    while time.monotonic() < end:
        busy = Busy()
        time.sleep(1)
        if busy.others_pct() <= most_pct:
            return


def undisturbed(
    run: Callable[[bool], Result],
    patience_s: float,
    most_pct: float = MOST_OTHERS_PCT,
    running: Callable[[], float] = lambda: 0.0,
) -> tuple[Result, float]:
    """A run during which nobody else worked; the least disturbed one once patience is at an end.

    `run` is told whether it may end with Disturbed. `running` returns the seconds that processes of the bench
    have worked which go on beyond the run. Beside what `run` returns: what others used, in percent.
    """
    end = time.monotonic() + patience_s
    tries: list[tuple[float, Result]] = []
    while True:
        wait_for_rest(end, most_pct)
        busy, before = Busy(), running()
        try:
            result = run(time.monotonic() < end)
        except Disturbed:
            continue
        tries.append((busy.others_pct(running() - before), result))
        if tries[-1][0] <= most_pct or time.monotonic() > end:
            break
    others, result = min(tries, key=lambda one: one[0])
    return result, round(others, 1)


def processor() -> str:
    """Its name."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
