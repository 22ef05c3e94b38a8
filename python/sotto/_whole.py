"""Files that appear under their name once they are complete."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # of file systems without hard links


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file under its name once it is complete, also over an existing one.

    Text is written in UTF-8. The mode of an existing file is kept; the target of a symbolic link is replaced.
    """
    path = path.resolve()
    with _finished(path, content) as made:
        if path.exists():
            os.chmod(made, stat.S_IMODE(path.stat().st_mode))
        os.replace(made, path)


def write_new(path: Path, content: bytes) -> None:
    """Writes a new file under its name once it is complete. Raises `FileExistsError` if there is one."""
    path = path.resolve()
    with _finished(path, content) as made:
        try:
            os.link(made, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            path.open("xb").close()
            os.replace(made, path)


@contextmanager
def _finished(path: Path, content: str | bytes) -> Iterator[Path]:
    """Yields a complete file beside `path`, which is removed afterwards if it still has its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.parent / f".sotto-{secrets.token_hex(8)}"
    try:
        with made.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        yield made
    finally:
        made.unlink(missing_ok=True)
