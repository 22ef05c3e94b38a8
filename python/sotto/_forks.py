"""Delays fork() until other threads have finished their imports.

A forked child does not inherit the threads, but it inherits the module locks that they hold, which are then
never released. This package imports some modules lazily, so any thread that loads its first model may be
importing.
"""

from __future__ import annotations

import _imp
import os
import sys
import threading
import time
from typing import Any

LONGEST_S = 1.0
PAUSE_S = 0.0005


def _importing() -> bool:
    """Returns True if another thread imports or is about to: it holds or will take a module lock."""
    references: dict[str, Any] = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    me = threading.get_ident()
    locks = [reference() for reference in list(references.values())]
    return _imp.lock_held() or any(lock is not None and getattr(lock, "owner", None) != me for lock in locks)


def _wait() -> None:
    """Waits until no other thread imports, at most `LONGEST_S` seconds.

    Returns right after a sleep, at the start of a time slice, so that no other thread runs before the fork.
    Does not hold the import lock during the fork: fork hooks of other packages run after this one, and may
    wait for a lock whose holder is importing.
    """
    until = time.monotonic() + LONGEST_S
    time.sleep(PAUSE_S)
    while _importing() and time.monotonic() < until:
        time.sleep(PAUSE_S)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait)
