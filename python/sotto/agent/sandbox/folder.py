"""`WorkFolder`: the folder in which the code of a session may write."""

from __future__ import annotations

import errno
import itertools
import logging
import os
import secrets
import stat
import tempfile

from .results import SandboxFile

_log = logging.getLogger("sotto.agent")
_MOVED = f".{secrets.token_hex(8)}"  # begins the names of folders that are being removed
_Seen = tuple[int, int, int]  # inode, size, and time of the last change


class WorkFolder:
    """A temporary folder of a session, and the versions of its files that were read.

    Only the code in the sandbox writes there. It is not trusted: no link is followed, and nothing but regular
    files is opened.

    Args:
        user: User who owns the folder; None: the current one.
    """

    def __init__(self, user: int | None) -> None:
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="sotto-sandbox-"))
        self._seen: dict[str, _Seen] = {}
        if user is not None:
            os.chown(self.path, user, user)

    def measure(self, max_entries: int) -> tuple[int, int]:
        """Returns the number of entries and their bytes. Stops counting above `max_entries`."""
        found = self._walk(max_entries)
        return len(found), sum(_bytes(one) for _, one in found)

    def take_new(self, session_id: str, max_entries: int, max_bytes: int) -> list[SandboxFile]:
        """Returns the files that were written since the last time, at most `max_bytes` in all."""
        taken: list[SandboxFile] = []
        for path, about in sorted(self._walk(max_entries)):
            seen = (about.st_ino, about.st_size, about.st_mtime_ns)
            if not stat.S_ISREG(about.st_mode) or self._seen.get(path) == seen:
                continue
            data = _read(path, max_bytes)
            if data is None:
                continue
            self._seen[path] = seen
            max_bytes -= len(data)
            name = os.path.relpath(path, self.path).encode("utf-8", "replace").decode()
            taken.append(SandboxFile(f"file_{secrets.token_hex(8)}", name, session_id, data))
        return taken

    def remove(self) -> None:
        """Removes the folder. A failure is logged."""
        try:
            self._remove()
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("the folder '%s' of a sandbox cannot be removed: %s", self.path, error)

    def _remove(self) -> None:
        """Moves each folder to the top before it is emptied: paths may be longer than the system takes."""
        waiting = [self.path]
        for number in itertools.count():
            path = waiting.pop()
            for one in _entries(path):
                if one.is_dir(follow_symlinks=False):
                    moved = os.path.join(self.path, f"{_MOVED}-{number}-{len(waiting)}")
                    _make_readable(one.path)
                    os.rename(one.path, moved)
                    waiting.append(moved)
                else:
                    os.unlink(one.path)
            if path != self.path:
                os.rmdir(path)
            if not waiting:
                break
        os.rmdir(self.path)

    def _walk(self, max_entries: int) -> list[tuple[str, os.stat_result]]:
        """Returns paths and states of all entries.

        Stops above `max_entries`, and counts a path that is too long for the system as that many.
        """
        found: list[tuple[str, os.stat_result]] = []
        waiting = [self.path]
        while waiting and len(found) <= max_entries:
            try:
                for one in _entries(waiting.pop()):
                    about = one.stat(follow_symlinks=False)
                    found.append((one.path, about))
                    if stat.S_ISDIR(about.st_mode):
                        waiting.append(one.path)
            except OSError as error:
                if error.errno == errno.ENAMETOOLONG:
                    return found + found[-1:] * (max_entries + 1)
                continue  # the code removed it meanwhile
        return found


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Returns what a folder has, also if the code took away the right to read it."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        _make_readable(folder)
    with os.scandir(folder) as entries:
        return list(entries)


def _make_readable(folder: str) -> None:
    opened = os.open(folder, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chmod(f"/proc/self/fd/{opened}", 0o700)
    finally:
        os.close(opened)


def _bytes(about: os.stat_result) -> int:
    return max(about.st_blocks * 512, about.st_size if stat.S_ISREG(about.st_mode) else 0)


def _read(path: str, most: int) -> bytes | None:
    """Reads a regular file, not through links; None if it is none, or has more than `most` bytes."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(opened, "rb") as file:
        about = os.fstat(opened)
        direct = os.readlink(f"/proc/self/fd/{opened}") == path  # no folder on the way is a link
        if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1 or not direct or about.st_size > most:
            return None
        data = file.read(most + 1)
    return data if len(data) <= most else None
