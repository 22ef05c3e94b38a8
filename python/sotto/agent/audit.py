"""`AuditLog`: what an agent did, in memory and in a file that is only appended to."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from .._desc import StrPath
from .._handle import Unique
from .._values import invalid, whole
from ..errors import ArgumentError, SottoError, Status

AuditEvent = Literal[
    "asked", "approved", "denied", "started", "done", "failed", "timed_out", "cancelled", "refused"
]

_MOST = 1 << 24
_LONGEST = 4096  # characters of a detail, and of arguments


@dataclasses.dataclass(frozen=True)
class AuditEntry:
    """One step of one call.

    Attributes:
        time: Seconds since 1970.
        event: "asked" (the approval callback is called), "approved", "denied", "started", then "done",
            "failed", "timed_out" or "cancelled". "refused": the call was invalid and did not start.
        tool: Name of the tool.
        kind: Kind of the tool; empty: there is no such tool.
        call_id: Id of the call.
        session_id: Id of the session.
        character: Name of the character that called.
        round: Number of the round in its turn, from 1.
        arguments: The arguments as the model wrote them, at most 4,096 characters.
        detail: Reason, error or result, at most 4,096 characters.
    """

    time: float
    event: AuditEvent
    tool: str
    kind: str
    call_id: str
    session_id: str
    character: str
    round: int
    arguments: str
    detail: str = ""


class AuditLog(Unique):
    """Log of every step of every call. May serve several agents. Iterates over the entries in memory.

    An entry is one line of JSON in the file. The entry "started" is written and synced before the tool runs:
    if the log cannot be written, the tool does not run. The file is created for the current user only (mode
    0600) and is never shortened. Thread-safe.

    Args:
        path: File of JSON lines, appended to; None: memory alone.
        capacity: Number of entries that are kept in memory.
        clock: Returns the time in seconds since 1970.

    Raises:
        ArgumentError: The path is that of a link, a folder or a device.
        OSError: The file cannot be opened.
    """

    def __init__(
        self,
        path: StrPath | None = None,
        *,
        capacity: int = 10_000,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._entries: deque[AuditEntry] = deque(maxlen=whole("capacity", capacity, _MOST))
        self._clock = clock
        self._lock = threading.Lock()  # guards the fields above and below
        self._file: int | None = None if path is None else _open(os.fspath(path))
        self._torn = False  # the file ends with a part of a line, because writing it failed
        self._closed = False

    def __enter__(self) -> AuditLog:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[AuditEntry]:
        with self._lock:
            return iter(list(self._entries))

    def add(self, event: AuditEvent, fields: Mapping[str, Any], detail: str = "") -> None:
        """Appends an entry. `fields`: those of `AuditEntry` that describe the call.

        Raises:
            OSError: The file cannot be written.
            SottoError: The log is closed.
        """
        entry = AuditEntry(time=self._clock(), event=event, detail=detail[:_LONGEST], **fields)
        entry = dataclasses.replace(entry, arguments=entry.arguments[:_LONGEST])
        with self._lock:
            if self._closed:
                raise SottoError("the audit log is closed; pass another one to the agent", Status.STATE)
            if self._file is not None:
                line = json.dumps(vars(entry)).encode() + b"\n"
                torn, self._torn = self._torn, True
                _write(self._file, b"\n" + line if torn else line)
                self._torn = False
            self._entries.append(entry)

    def close(self) -> None:
        """Closes the file. A second call does nothing."""
        with self._lock:
            self._closed = True
            if self._file is not None:
                os.close(self._file)
                self._file = None


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"):
        flags |= getattr(os, name, 0)  # a FIFO must not wait for its other end
    try:
        file = os.open(os.path.expanduser(path), flags, 0o600)
    except IsADirectoryError:
        raise ArgumentError(invalid("path", path, "a regular file, not a folder")) from None
    except OSError:
        if os.path.islink(os.path.expanduser(path)):
            raise ArgumentError(invalid("path", path, "a regular file, not a link")) from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise ArgumentError(invalid("path", path, "a regular file"))
        _end_line(file)
    except BaseException:
        os.close(file)
        raise
    return file


def _end_line(file: int) -> None:
    """Ends a line that a crash has cut, so that the next entry begins a line of its own."""
    size = os.lseek(file, 0, os.SEEK_END)
    if size == 0:
        return
    os.lseek(file, size - 1, os.SEEK_SET)
    if os.read(file, 1) != b"\n":
        _write(file, b"\n")


def _write(file: int, line: bytes) -> None:
    left = memoryview(line)
    while left:
        left = left[os.write(file, left) :]
    os.fsync(file)
