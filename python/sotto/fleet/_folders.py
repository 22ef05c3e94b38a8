"""Folders of this machine that processes of one user share."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from ..errors import ArgumentError


def private_folder(name: str) -> Path:
    """Returns a folder among the temporary files, which this user alone may open; makes it if it is absent.

    Raises:
        ArgumentError: The folder belongs to another user.
        OSError: It cannot be made.
    """
    path = Path(tempfile.gettempdir()) / f"{name}-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ArgumentError(
            f"'{path}' is no folder of this user alone; remove it, or set TMPDIR to another folder"
        )
    return path
