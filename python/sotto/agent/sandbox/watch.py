"""`Watch`: compares what a process uses with its limits."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass

from .folder import WorkFolder
from .limits import SandboxLimits
from .output import MAX_BYTES, CutOutput
from .results import Ended

POLL_SECONDS = 0.025  # between two looks at what a process uses
_SHARE = 4  # times what a look takes: many files take long

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


class Watch:
    """Compares what a process uses during a call with its limits.

    Args:
        pid: Id of the process, which is stopped.
        folder: Its work folder.
        limits: The limits.
    """

    def __init__(self, pid: int, folder: WorkFolder, limits: SandboxLimits) -> None:
        self._pid, self._folder, self._limits = pid, folder, limits
        before = usage_of(pid)
        self._before = 0.0 if before is None else before.seconds
        self._next = 0.0

    def look(self, output: CutOutput) -> None:
        """Checks the limits, if the last time was long ago."""
        began = time.monotonic()
        if began >= self._next:
            self.check(output)
            now = time.monotonic()
            self._next = now + max(POLL_SECONDS, _SHARE * (now - began))

    def check(self, output: CutOutput) -> None:
        """Raises `Ended` if a limit is exceeded."""
        limits = self._limits
        if output.size > MAX_BYTES:
            raise Ended("output", f"more than {MAX_BYTES >> 20} MB of output")
        used = usage_of(self._pid)
        if used is not None and used.seconds - self._before > limits.cpu_time:
            raise Ended("cpu_time", f"more than {limits.cpu_time:g} s of processor time")
        if used is not None and used.threads > limits.threads:
            raise Ended("threads", f"more than {limits.threads} threads")
        entries, size = self._folder.measure(limits.files)
        if entries > limits.files:
            raise Ended("files", f"more than {limits.files} files")
        if size + unlinked_bytes(self._pid) > limits.disk_mb << 20:
            raise Ended("disk_mb", f"more than {limits.disk_mb} MB of files")
