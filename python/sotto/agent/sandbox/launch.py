"""`Launcher`: which walls there are, and how a process behind them is started."""

from __future__ import annotations

import base64
import functools
import importlib.resources
import os
import secrets
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import seccomp
from .interpreter import Interpreter, is_beneath, split
from .limits import SandboxLimits

NICE = 10  # a sandbox leaves the processor to the game
_TOP = ("lib", "lib32", "lib64", "libx32", "bin", "sbin")
_NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
# Each arena of glibc's malloc reserves 64 MB of address space.
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "2", "PATH": ""}
_DEVICES = ("/dev/null", "/dev/urandom")
_USER_CAPABILITIES = 1 << 5 | 1 << 6 | 1 << 7  # CAP_KILL, CAP_SETGID, CAP_SETUID
_LARGEST_USER = 0x7FFFFFFF


def find_bubblewrap() -> str | None:
    """Returns the path of bubblewrap; None if it is not installed."""
    return shutil.which("bwrap")


def is_root() -> bool:
    """Returns True if this process may become another user, and send it signals."""
    try:
        with open("/proc/self/status", "rb") as file:
            line = next(one for one in file if one.startswith(b"CapEff:"))
    except (OSError, StopIteration):
        return False
    return os.geteuid() == 0 and int(line.split()[1], 16) & _USER_CAPABILITIES == _USER_CAPABILITIES


@functools.cache
def guest_source() -> str:
    """Returns the program that runs inside."""
    return importlib.resources.files(__package__).joinpath("guest.py").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Launcher:
    """How the processes of a sandbox are started.

    Attributes:
        interpreter: The Python interpreter.
        limits: The limits.
        readable: Further paths that the code may read.
        bubblewrap: Path of bubblewrap; None: the process stays in the namespaces of this one.
        root: True if this process is root: the process becomes a user of its own.
    """

    interpreter: Interpreter
    limits: SandboxLimits
    readable: tuple[str, ...]
    bubblewrap: str | None
    root: bool

    def new_user(self) -> int | None:
        """Returns the id of a user who owns nothing, for a new process; None: only root can change it."""
        if not self.root:
            return None
        first, count = _mapped_users()
        last = min(first + count - 1, _LARGEST_USER)
        return last - 2 - secrets.randbelow(max(min(1 << 24, count // 16), 1))

    def command(self, work: str, requests: int, replies: int, info: int) -> list[str]:
        """Returns the command of a process, which gets two descriptors, see guest.py.

        Bubblewrap writes the id of the first process in its namespace to `info`.
        """
        python = [self.interpreter.executable, "-I", "-S", "-B", "-X", "utf8", "-c", guest_source()]
        python += [str(requests), str(replies)]
        if self.bubblewrap is None:
            return python
        return [self.bubblewrap, *self._namespaces(info), *self._view(work), "--", *python]

    def environment(self, work: str) -> dict[str, str]:
        """Returns the environment variables of a process: none of this one's."""
        return {**_ENVIRONMENT, "HOME": work, "TMPDIR": work}

    def configuration(self, work: str, pid: int, user: int | None) -> dict[str, Any]:
        """Returns what the process has to know to put up its walls, see `guest.confine()`.

        Args:
            work: The work folder.
            pid: Id of the process, as it sees it.
            user: User that it becomes; None: it stays who it is.
        """
        inside = self.bubblewrap is not None
        read, both = split(self.interpreter.readable, self.interpreter.hidden)
        options = seccomp.FilterOptions(pid, own_files=inside or user is not None)
        limits = self.limits.of_process()
        if inside or user is not None:  # else the user's other threads would count
            first = int(user is None)  # the first process of the namespace has the same user
            limits["RLIMIT_NPROC"] = self.limits.threads + first
        return {
            "work": work,
            "read": [*read, *self.readable],
            "list": both,
            "limits": limits,
            "nice": NICE,
            "user": user,
            "search": user is not None and not inside and not self._reachable(work),
            "parent": 0 if inside else os.getpid(),
            "filter": base64.b64encode(seccomp.program(options)).decode(),
        }

    def _reachable(self, work: str) -> bool:
        """Returns True if every user may enter the folders that the process needs."""
        return all(
            _may_enter(one) for one in (*self.interpreter.readable, *self.readable, os.path.dirname(work))
        )

    def _namespaces(self, info: int) -> list[str]:
        options = [*_NAMESPACES, "--die-with-parent", "--new-session"]
        options += ["--info-fd", str(info), "--cap-drop", "ALL"]
        if self.root:  # the process becomes another user, see guest.confine()
            for name in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
                options += ["--cap-add", name]
            return options
        return [*options, "--unshare-user", "--uid", "65534", "--gid", "65534"]

    def _view(self, work: str) -> list[str]:
        """Returns the options for the files that the process sees."""
        options: list[str] = []
        folders = list(self.interpreter.readable)
        for name in _TOP:
            path = f"/{name}"
            if os.path.islink(path):
                options += ["--symlink", os.readlink(path), path]
            elif name.startswith("lib") and os.path.isdir(path) and not is_beneath(path, folders):
                folders.append(path)
        for path in _parents([*folders, *self.readable, *_DEVICES, work]):
            options += ["--perms", "0755", "--dir", path]
        for path in sorted(folders):
            options += ["--ro-bind", path, path]
        options += self._loader_links(folders)
        for path in self.interpreter.hidden:
            options += ["--tmpfs", path, "--remount-ro", path]
        for path in self.readable:
            options += ["--ro-bind", path, path]
        for path in _DEVICES:
            options += ["--dev-bind", path, path]
        return [*options, "--bind", work, work, "--remount-ro", "/"]

    def _loader_links(self, folders: Sequence[str]) -> list[str]:
        """Returns options for the path of the loader that programs name, if no folder has it."""
        options: list[str] = []
        loader = self.interpreter.loader
        for folder in ("/lib", "/lib64") if loader else ():
            path = os.path.join(os.path.realpath(folder), os.path.basename(loader))
            if os.path.lexists(path) and not is_beneath(path, folders):
                options += ["--symlink", loader, path]
        return options


def _parents(paths: Sequence[str]) -> list[str]:
    """Returns the folders above paths, outer ones first, without the root and without the paths."""
    found: set[str] = set()
    for path in paths:
        while (path := os.path.dirname(path)) != "/":
            found.add(path)
    return sorted(one for one in found if not is_beneath(one, paths))


def _may_enter(path: str) -> bool:
    while True:
        needed = stat.S_IXOTH if os.path.isdir(path) else stat.S_IROTH
        if not os.stat(path).st_mode & needed:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


def _mapped_users() -> tuple[int, int]:
    """Returns the first id and the count of the largest range of users that exist here."""
    try:
        with open("/proc/self/uid_map") as file:
            ranges = [[int(one) for one in line.split()] for line in file]
        first, _, count = max(ranges, key=lambda one: one[2])
    except (OSError, ValueError):
        return 0, 1 << 16
    return first, count
