"""Lists and reads the text files of a folder, and nothing outside of it."""

from __future__ import annotations

import codecs
import fnmatch
import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_MAX_DEPTH = 32
_YOUNG = 2_000_000_000  # nanoseconds in which a file may change again without another time
_BOMS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _SAFE


class Stamp(NamedTuple):
    """What shows that a file has changed."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @property
    def young(self) -> bool:
        """True if the file may change again without another stamp."""
        return time.time_ns() - max(self.modified_ns, self.changed_ns) < _YOUNG


class File(NamedTuple):
    """A file of a folder: its name below it, with "/", and its open descriptor."""

    name: str
    stamp: Stamp
    descriptor: int


class Limits(NamedTuple):
    """Which files of a folder are read."""

    patterns: Sequence[str]
    max_files: int
    max_file_bytes: int
    max_bytes: int


@dataclass
class Listing:
    """What a walk through a folder found, and what it left out and why."""

    limits: Limits
    skipped: dict[str, str] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0

    def refuses(self, name: str, found: os.stat_result) -> bool:
        """Returns True if a file is left out. Counts it otherwise."""
        if not stat.S_ISREG(found.st_mode):
            return self._skip(name, "not a regular file")
        if found.st_size > self.limits.max_file_bytes:
            return self._skip(
                name, f"{found.st_size} bytes: larger than max_file_bytes={self.limits.max_file_bytes}"
            )
        if self.files >= self.limits.max_files:
            return self._skip(name, f"the folder has more than max_files={self.limits.max_files} files")
        if self.bytes + found.st_size > self.limits.max_bytes:
            return self._skip(name, f"the folder has more than max_bytes={self.limits.max_bytes} bytes")
        self.files += 1
        self.bytes += found.st_size
        return False

    def _skip(self, name: str, reason: str) -> bool:
        if len(self.skipped) < 1000:
            self.skipped[name] = reason
        return True


def walk(folder: str, listing: Listing) -> Iterator[File]:
    """Yields the files of a folder and its subfolders, sorted by name; closes each afterwards.

    Links and hidden files are left out. Subfolders are opened relative to their parents, without following
    links, so that a folder that is replaced by a link meanwhile leads nowhere else.

    Raises:
        OSError: The folder cannot be read.
    """
    top = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _SAFE)
    try:
        yield from _walk(top, "", listing, 0)
    finally:
        os.close(top)


def _walk(folder: int, prefix: str, listing: Listing, depth: int) -> Iterator[File]:
    for name in sorted(os.listdir(folder)):
        if name.startswith("."):
            continue
        path = prefix + name
        if not _is_unicode(name):
            listing.skipped[os.fsencode(path).decode("utf-8", "replace")] = "its name is not UTF-8"
            continue
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                listing.skipped.setdefault(path, "a link")
                continue
            is_folder = stat.S_ISDIR(found.st_mode)
            if is_folder and depth == _MAX_DEPTH:
                listing.skipped[path] = f"more than {_MAX_DEPTH} folders deep"
                continue
            if not is_folder and not _matches(name, listing.limits.patterns):
                continue
            opened = os.open(name, _READ, dir_fd=folder)
        except OSError as error:
            listing.skipped[path] = error.strerror or "cannot be read"
            continue
        try:
            found = os.fstat(opened)
            if is_folder and stat.S_ISDIR(found.st_mode):
                yield from _walk(opened, path + "/", listing, depth + 1)
            elif not is_folder and not listing.refuses(path, found):
                stamp = Stamp(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
                yield File(path, stamp, opened)
        finally:
            os.close(opened)


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name.casefold(), one.casefold()) for one in patterns)


def read(file: File, most: int) -> bytes:
    """Returns the content of a file, at most `most` bytes."""
    data = bytearray()
    while len(data) < most and (part := os.read(file.descriptor, min(1 << 20, most - len(data)))):
        data += part
    return bytes(data)


def text_of(data: bytes) -> str | None:
    """Returns the text of a file; None if it is not text. Invalid UTF-8 becomes U+FFFD."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if b"\0" in data:
        return None
    return data.decode("utf-8-sig", "replace")
