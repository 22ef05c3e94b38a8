"""Measures how much processor time other processes used during a run."""

from __future__ import annotations

import os
import time

BUSY_PCT = 10.0  # percent of all cores' processor time, above which frame times are unreliable
_STAT = "/proc/stat"


class OtherLoad:
    """Compares the machine's processor time with this process's time, from construction on.

    Counts the cores that this process may run on. Time stolen by the hypervisor counts as other processes'.
    """

    def __init__(self, path: str = _STAT) -> None:
        self._path = path
        self._cores = _allowed_cores()
        self._begin = (self._machine(), time.process_time())

    def percent(self) -> float | None:
        """Returns the other processes' share of the processor time, 0 to 100, or None if it is unknown.

        It is unknown where the system has no /proc/stat, or where its counters stand still.
        """
        before, own_before = self._begin
        now, own = self._machine(), time.process_time() - own_before
        if before is None or now is None or now[1] <= before[1]:
            return None
        busy, total = now[0] - before[0], now[1] - before[1]
        others = busy - own * os.sysconf("SC_CLK_TCK")
        return round(min(100.0, max(0.0, 100 * others / total)), 1)

    def _machine(self) -> tuple[int, int] | None:
        """Returns the busy and total ticks of the allowed cores since boot, or None if they are unknown."""
        try:
            with open(self._path, encoding="ascii") as lines:
                return ticks(lines.read(), self._cores)
        except (OSError, ValueError):
            return None


def ticks(stat: str, cores: set[int] | None) -> tuple[int, int] | None:
    """Returns the busy and total ticks of `cores` (None: all cores) from the text of /proc/stat.

    Returns None if the text lists none of those cores, or if all counters are 0.
    """
    busy = total = 0
    for line in stat.splitlines():
        name, *fields = line.split() or [""]
        number = name.removeprefix("cpu")
        if not name.startswith("cpu") or not number.isdecimal():
            continue
        if cores is not None and int(number) not in cores:
            continue
        # user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user time
        counts = [int(field) for field in fields[:8]]
        total += sum(counts)
        busy += sum(counts) - sum(counts[3:5])
    return (busy, total) if total else None


def _allowed_cores() -> set[int] | None:
    try:
        return os.sched_getaffinity(0)
    except AttributeError:  # not Linux
        return None
