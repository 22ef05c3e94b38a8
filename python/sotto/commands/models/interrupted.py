"""What a command says that Ctrl-C stopped while it made a file."""

from __future__ import annotations

from pathlib import Path

from .. import screen

STATUS = 130  # exit status, as shells have it

Version = tuple[int, int] | None  # inode and time of the last change; None: there is no such file


def version(path: Path) -> Version:
    """Returns what differs between a file and one that replaces it later."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def report(path: Path, before: Version) -> int:
    """Says whether `path` was written since `version(path)` returned `before`. Returns the exit status."""
    complete = version(path) != before
    screen.complain(f"sotto: stopped; {f'{path} was complete' if complete else 'nothing was written'}")
    return STATUS
