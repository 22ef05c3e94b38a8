"""CPU time of groups of processes between two moments, read from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

TICK = 1 / os.sysconf("SC_CLK_TCK")


class ProcessesChanged(Exception):
    """A process of a group began or ended while it was measured, so that its CPU time is not known."""


class Used(NamedTuple):
    """A process as /proc shows it.

    Attributes:
        began: When it began, in ticks since the machine's start: process ids are used again.
        seconds: User and system time of all its threads, also of those that have ended.
    """

    began: int
    seconds: float


def used(pid: int) -> Used:
    """Returns the CPU time of a process.

    Raises:
        ProcessesChanged: it has ended.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        raise ProcessesChanged(f"process {pid} has ended") from None
    if fields[0] in "XZ":
        raise ProcessesChanged(f"process {pid} has ended")
    return Used(int(fields[19]), (int(fields[11]) + int(fields[12])) * TICK)


def tree(root: int) -> list[int]:
    """Returns a process and its descendants."""
    found, left = [], [root]
    while left:
        pid = left.pop()
        found.append(pid)
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                left += map(int, task.read_text().split())
            except OSError:  # the thread has ended
                continue
    return found


def command_of(pid: int) -> str:
    """Returns the command line of a process; "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    except OSError:
        return ""


def running_with(words: str) -> list[int]:
    """Returns the processes of this machine whose command line contains `words`."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if pid != os.getpid() and words in command_of(pid)]


class CpuMeter:
    """Measures groups of processes, each given by its first processes; descendants count too.

    >>> meter = CpuMeter({"router": [master], "replica": [server]})
    >>> ask_for(tokens)
    >>> meter.seconds()["router"] / tokens
    """

    def __init__(self, groups: Mapping[str, Iterable[int]]) -> None:
        """Starts.

        Raises:
            ProcessesChanged: a process has ended.
        """
        self._roots = {name: list(roots) for name, roots in groups.items()}
        self._before = self._look()

    def seconds(self) -> dict[str, float]:
        """Returns the CPU seconds of each group since the start.

        Raises:
            ProcessesChanged: a process began or ended meanwhile.
        """
        now = self._look()
        found = {}
        for name, before in self._before.items():
            after = now[name]
            if {pid: one.began for pid, one in after.items()} != {
                pid: one.began for pid, one in before.items()
            }:
                raise ProcessesChanged(f"{name}: processes {sorted(before)} became {sorted(after)}")
            found[name] = sum(after[pid].seconds - before[pid].seconds for pid in after)
        return found

    def _look(self) -> dict[str, dict[int, Used]]:
        return {
            name: {pid: used(pid) for root in roots for pid in tree(root)}
            for name, roots in self._roots.items()
        }
