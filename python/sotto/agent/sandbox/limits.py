"""`SandboxLimits`: how much the code in a sandbox may use."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..._values import invalid, number, whole
from ...errors import ArgumentError

_LEAST = {
    "memory_mb": 64,
    "threads": 1,
    "open_files": 16,
    "file_mb": 1,
    "disk_mb": 1,
    "files": 1,
    "output": 64,
}
_MOST = {
    "memory_mb": 1 << 20,
    "threads": 4096,
    "open_files": 4096,
    "file_mb": 1 << 20,
    "disk_mb": 1 << 20,
    "files": 1 << 16,
    "output": 1 << 24,
}
_LEAST_SECONDS, _MOST_SECONDS = 1e-3, 86_400.0


@dataclass(frozen=True)
class SandboxLimits:
    """Limits of the Python process of a session, and of each of its calls.

    A call that exceeds a limit is ended with its process. Above `memory_mb`, `open_files` and `file_mb`, the
    code gets a `MemoryError` or an `OSError`, and above `threads` mostly a `RuntimeError`.

    Attributes:
        time_limit: Time of a call, in seconds.
        cpu_time: Processor time of a call, in seconds, of all threads together.
        memory_mb: Address space of the process, in MB.
        threads: Threads. Child processes are not possible.
        open_files: Open files.
        file_mb: Size of a file, in MB.
        disk_mb: Size of all files in the work folder, in MB.
        files: Files and folders in the work folder.
        output: Characters of output that a call returns. The middle of longer output is left out.
    """

    time_limit: float = 10.0
    cpu_time: float = 10.0
    memory_mb: int = 512
    threads: int = 16
    open_files: int = 64
    file_mb: int = 16
    disk_mb: int = 32
    files: int = 256
    output: int = 8192

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            checked = _count(one.name, value) if one.name in _LEAST else _seconds(one.name, value)
            object.__setattr__(self, one.name, checked)

    def of_process(self) -> dict[str, int]:
        """Returns the limits that the kernel holds, by their names in the module `resource`."""
        return {
            "RLIMIT_AS": self.memory_mb << 20,
            "RLIMIT_FSIZE": self.file_mb << 20,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_CORE": 1,  # 0 would still start a program that the system has for dumps
            "RLIMIT_MEMLOCK": 0,
            "RLIMIT_MSGQUEUE": 0,
            "RLIMIT_SIGPENDING": 64,
        }


def _count(name: str, value: object) -> int:
    least, most = _LEAST[name], _MOST[name]
    found = whole(name, value, most)
    if found < least:
        raise ArgumentError(invalid(name, value, f"an integer from {least} to {most}"))
    return found


def _seconds(name: str, value: object) -> float:
    found = number(name, value)
    if not _LEAST_SECONDS <= found <= _MOST_SECONDS:
        expected = f"a number of seconds from {_LEAST_SECONDS:g} to {_MOST_SECONDS:g}"
        raise ArgumentError(invalid(name, value, expected))
    return found
