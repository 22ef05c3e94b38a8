"""`FileShelf`: the files that came out of a sandbox, by their ids."""

from __future__ import annotations

import threading
from collections import OrderedDict

from ...errors import SottoError, Status
from .results import SandboxFile


class FileShelf:
    """Keeps files in memory. The oldest are dropped above a limit.

    Args:
        max_files: Maximum number of files.
        max_bytes: Maximum size of all.
    """

    def __init__(self, max_files: int, max_bytes: int) -> None:
        self._max_files, self._max_bytes = max_files, max_bytes
        self._files: OrderedDict[str, SandboxFile] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()  # guards both

    def add(self, files: list[SandboxFile]) -> None:
        """Adds files."""
        with self._lock:
            for one in files:
                self._files[one.id] = one
                self._bytes += len(one.data)
            while self._files and (self._bytes > self._max_bytes or len(self._files) > self._max_files):
                _, dropped = self._files.popitem(last=False)
                self._bytes -= len(dropped.data)

    def get(self, file_id: str) -> SandboxFile:
        """Returns a file.

        Raises:
            SottoError: No file has this id, or it was dropped.
        """
        with self._lock:
            found = self._files.get(file_id)
        if found is None:
            raise SottoError(f"unknown file '{file_id}': expected the id of a file", Status.NOT_FOUND)
        return found

    def of(self, session_id: str | None) -> list[SandboxFile]:
        """Returns the files of a session, oldest first; None: of all."""
        with self._lock:
            return [one for one in self._files.values() if session_id in (None, one.session_id)]
