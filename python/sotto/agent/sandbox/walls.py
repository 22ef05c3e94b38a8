"""Finds the walls that this system has for a sandbox."""

from __future__ import annotations

import functools
import logging
import sys
import threading
from dataclasses import dataclass, replace

from ...errors import Status
from .launch import Launcher, find_bubblewrap
from .process import Process
from .results import SandboxError

_log = logging.getLogger("sotto.agent")


@dataclass(frozen=True)
class Walls:
    """The walls of a sandbox.

    Attributes:
        launcher: Starts processes behind them.
        standing: Their names: "namespaces", "landlock", "seccomp", "limits".
        missing: Why others are missing, by name.
    """

    launcher: Launcher
    standing: tuple[str, ...]
    missing: dict[str, str]


def find_walls(wanted: Launcher, strict: bool) -> Walls:
    """Returns the walls that stand, which a first process tries out.

    Args:
        wanted: The launcher, without bubblewrap.
        strict: True: raises if a wall is missing; else the log has a warning.

    Raises:
        SandboxError: No process could be started, or a wall is missing. The message names it.
    """
    require_linux()
    found = _found(replace(wanted, bubblewrap=find_bubblewrap()))
    for name, reason in found.missing.items():
        if strict:
            raise SandboxError(f"the sandbox has no wall '{name}': {reason}", Status.UNSUPPORTED)
        _log.warning("the Python sandbox has no wall '%s': %s", name, reason)
    return found


def require_linux() -> None:
    """Raises `SandboxError` on other systems than Linux."""
    if sys.platform != "linux":
        raise SandboxError(
            "a Python sandbox needs Linux, whose namespaces, seccomp and Landlock keep code in; "
            f"{sys.platform} has none of them: run the code on a Linux server, by sotto.agent.Dispatch",
            Status.UNSUPPORTED,
        )


def _found(wanted: Launcher) -> Walls:
    missing: dict[str, str] = {}
    inside: dict[str, bool] | None = None
    launcher = wanted
    if wanted.bubblewrap is None:
        missing["namespaces"] = "bubblewrap is not installed; install the package bubblewrap"
    else:
        try:
            inside = _try(wanted)
        except SandboxError as error:
            missing["namespaces"] = f"bubblewrap does not work here; {error}"
    if inside is None:
        launcher = replace(wanted, bubblewrap=None)
        inside = _try(launcher)
        if not inside["landlock"]:
            missing["landlock"] = "the kernel has no Landlock; the code can read and write the user's files"
    if not inside["seccomp"]:
        missing["seccomp"] = "libseccomp is not installed; install the package libseccomp2 or libseccomp"
    standing = {"namespaces": launcher.bubblewrap is not None, **inside, "limits": True}
    return Walls(launcher, tuple(name for name, stands in standing.items() if stands), missing)


@functools.lru_cache(maxsize=32)
def _try(launcher: Launcher) -> dict[str, bool]:
    """Starts a process, and returns the walls that it has put up from inside."""
    process = Process(launcher, threading.Event())
    process.end()
    return process.walls
