"""`Interpreter`: a Python interpreter, and the files that it needs to run."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..._values import invalid, string
from ...errors import ArgumentError

_SECONDS = 30  # to ask an interpreter
_EXPECTED = "the path of a Python interpreter, 3.10 or newer"
# Imports the extension modules of the standard library, so that /proc/self/maps has all libraries of theirs.
_PROBE = r"""
import json, os, sys, sysconfig
names = set()
for folder in sys.path:
    if os.path.isdir(folder):
        names |= {one.split(".")[0] for one in os.listdir(folder) if one.endswith(".so")}
for name in sorted(names):
    if not name.startswith(("_test", "_xx", "xx", "_tkinter")):
        try:
            __import__(name)
        except BaseException:
            pass
with open("/proc/self/maps") as file:
    mapped = {parts[5].strip() for line in file if len(parts := line.split(maxsplit=5)) == 6}
paths = sysconfig.get_paths()
print(json.dumps({
    "version": sys.version_info[:2],
    "executable": os.path.realpath(sys.executable),
    "library": sorted({os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib")}),
    "packages": sorted({os.path.realpath(paths[name]) for name in ("purelib", "platlib")}),
    "mapped": sorted(one for one in mapped if one.startswith("/") and ".so" in os.path.basename(one)),
}))
"""
_PACKAGES = ("site-packages", "dist-packages")
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))  # the package sotto


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter.

    Attributes:
        executable: Its file.
        folders: Folders that it reads: the standard library, and those of shared libraries.
        hidden: Folders in these that a sandbox does not show: installed packages, and Sotto.
        loader: The system's loader of shared libraries; empty if it is not known.
    """

    executable: str
    folders: tuple[str, ...]
    hidden: tuple[str, ...]
    loader: str

    @property
    def readable(self) -> tuple[str, ...]:
        """All that it needs to read."""
        return (self.executable, *self.folders)


def find_interpreter(python: str | os.PathLike[str] | None) -> Interpreter:
    """Returns an interpreter; None: the one that runs this code.

    Raises:
        ArgumentError: The file is no Python interpreter.
    """
    if python is None:
        own = getattr(sys, "_base_executable", "") or sys.executable
        if not own or not re.match(r"python[0-9.]*$", os.path.basename(own)):
            raise ArgumentError(invalid("python", None, f"{_EXPECTED}, as this process is not one"))
        return _ask(os.path.realpath(own))
    return _ask(os.path.realpath(string("python", os.fspath(python))))


@functools.lru_cache(maxsize=16)
def _ask(path: str) -> Interpreter:
    command = [path, "-I", "-S", "-W", "ignore", "-c", _PROBE]
    try:
        asked = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=True,
            env={"LC_ALL": "C.UTF-8"},
        )
        found = json.loads(asked.stdout)
        version = tuple(found["version"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise ArgumentError(f"{invalid('python', path, _EXPECTED)}; {type(error).__name__}") from None
    if version < (3, 10):
        raise ArgumentError(f"{invalid('python', path, _EXPECTED)}; it is {version[0]}.{version[1]}")
    libraries = {os.path.dirname(os.path.realpath(one)) for one in found["mapped"]}
    folders = _outermost([*found["library"], *libraries])
    hidden = {_OURS, *found["packages"]}
    hidden |= {os.path.join(folder, name) for folder in found["library"] for name in _PACKAGES}
    return Interpreter(
        found["executable"],
        tuple(folders),
        tuple(_outermost([one for one in hidden if is_beneath(one, folders) and os.path.isdir(one)])),
        next((one for one in found["mapped"] if os.path.basename(one).startswith("ld")), ""),
    )


def is_beneath(path: str, folders: Iterable[str]) -> bool:
    """Returns True if a path is one of these folders, or in one of them."""
    return any(path == one or path.startswith(one.rstrip("/") + "/") for one in folders)


def _outermost(paths: Iterable[str]) -> list[str]:
    """Returns the paths that are in no other of them, sorted."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not is_beneath(path, kept):
            kept.append(path)
    return kept


def split(folders: Iterable[str], hidden: Iterable[str]) -> tuple[list[str], list[str]]:
    """Returns paths that cover `folders` but not `hidden`, and the folders that have both within."""
    read: list[str] = []
    both: list[str] = []
    without = tuple(hidden)
    waiting = list(folders)
    while waiting:
        path = waiting.pop()
        if is_beneath(path, without):
            continue
        if not any(is_beneath(one, [path]) for one in without):
            read.append(path)
            continue
        both.append(path)
        waiting.extend(_entries(path))
    return sorted(read), sorted(both)


def _entries(folder: str) -> Iterator[str]:
    with os.scandir(folder) as found:
        for one in found:
            if not one.is_symlink():
                yield one.path
