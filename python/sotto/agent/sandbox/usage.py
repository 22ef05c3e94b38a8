"""What a process uses, as the system counts it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass

_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True)
class Usage:
    """State, processor time in seconds, and number of threads."""

    state: str
    seconds: float
    threads: int


def usage_of(pid: int) -> Usage | None:
    """Returns the usage of a process; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            parts = file.read().rpartition(b")")[2].split()
        return Usage(parts[0].decode(), (int(parts[11]) + int(parts[12])) / _TICK, int(parts[17]))
    except (OSError, ValueError, IndexError):
        return None


def unlinked_bytes(pid: int) -> int:
    """Returns the size of the files that a process has open and that are in no folder any more."""
    total = 0
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                about = os.stat(f"/proc/{pid}/fd/{name}")
                if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
                    total += about.st_blocks * 512
    return total


def make_first_victim(pid: int) -> None:
    """Has the system end this process first when memory runs out."""
    with suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w") as file:
        file.write("1000")
