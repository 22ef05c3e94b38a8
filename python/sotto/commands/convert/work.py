"""The folder beside a target that holds its files until they are complete."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..._values import invalid
from ...errors import ArgumentError, SottoError, Status

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # errors of a disk, a quota or a limit that is exhausted


@contextmanager
def working(target: Path, parameter: str, entries: tuple[str, ...]) -> Iterator[Path]:
    """Yields the folder `.NAME.converting` beside `target`. One process at a time uses it.

    Removes `entries` at the start, where a killed conversion left them, and at the end, with the folder if it
    is empty.

    Args:
        target: The file or folder to write.
        parameter: Name of the argument that `target` came from, for errors.
        entries: Names of the files and folders that the caller makes in it.

    Raises:
        ArgumentError: The work folder is a link or a file.
        SottoError: Another process writes the same target, or the disk is full.
    """
    from filelock import FileLock, Timeout

    target.parent.mkdir(parents=True, exist_ok=True)
    work = _work_folder(target, parameter)
    lock = FileLock(work / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise SottoError(f"another process is writing '{target}': wait for it", Status.STATE) from None
    try:
        clear(work, entries)
        yield work
    except OSError as error:
        if error.errno in FULL:
            raise no_room(target.parent, parameter, error.strerror or str(error)) from None
        raise
    finally:
        with suppress(OSError):
            clear(work, entries)
        lock.release()
        with suppress(OSError):
            (work / "lock").unlink(missing_ok=True)
            work.rmdir()


def clear(work: Path, names: tuple[str, ...]) -> None:
    """Removes files and folders of a work folder."""
    for entry in (work / name for name in names):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)


def check_room(folder: Path, parameter: str, needed: int) -> None:
    """Raises `SottoError` if the disk of `folder` has less than `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise no_room(folder, parameter, f"it needs {needed >> 20} MB, and {free >> 20} MB are free")


def no_room(folder: Path, parameter: str, why: str) -> SottoError:
    """Returns the error for a full disk."""
    return SottoError(
        f"'{folder}' has no room for the model: {why}; free some, or choose another {parameter}"
    )


def _work_folder(target: Path, parameter: str) -> Path:
    work = target.parent / f".{target.name}.converting"
    if work.is_symlink() or (work.exists() and not work.is_dir()):
        expected = f"a path without '{work}' beside it, which is a link or a file"
        raise ArgumentError(invalid(parameter, str(target), expected))
    work.mkdir(exist_ok=True)
    return work
