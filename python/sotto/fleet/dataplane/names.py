"""Names of replicas, which survive them: the next replica on a node has the name of one that ended."""

from __future__ import annotations

import fcntl
import os

from .._folders import private_folder

_MOST = 4096  # replicas of one version on a node


class Name:
    """A name that one process of this machine has at a time, even if that process is killed.

    Args:
        node: Name of the node.
        version: What else makes the name unique, such as the workload and its version.

    Attributes:
        text: The name: that of the node, with a number unless it is the first.
    """

    def __init__(self, node: str, version: str) -> None:
        folder = private_folder("sotto-fleet")
        self._file = -1
        for number in range(1, _MOST + 1):
            self.text = node if number == 1 else f"{node}.{number}"
            self._path = folder / f"{version}-{self.text}"
            if self._take():
                return
        raise RuntimeError(f"{_MOST} replicas of one version run on node '{node}'")

    def release(self) -> None:
        """Gives the name back."""
        if self._file >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1

    def _take(self) -> bool:
        """Locks the file of the name; the system unlocks it when the process ends. Returns whether it did."""
        while True:
            self._file = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._file)
                return False
            if self._path.exists() and os.fstat(self._file).st_ino == self._path.stat().st_ino:
                return True
            os.close(self._file)  # the one before removed the file between our two calls
