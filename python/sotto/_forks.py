"""Has fork() wait for imports that other threads are in the middle of.

A child has none of those threads, but the interpreter's locks of the modules that they were importing, for
ever. Parts of this package are imported when they are first needed, so any thread that loads its first model
may be importing.
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
    """Whether another thread is, or is about to: it has a module's lock, acquired or not yet."""
    references: dict[str, Any] = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    me = threading.get_ident()
    locks = [reference() for reference in list(references.values())]
    return _imp.lock_held() or any(lock is not None and getattr(lock, "owner", None) != me for lock in locks)


def _wait() -> None:
    """Returns in a time slice that has just begun, so that no other thread runs before the fork.

    The import lock is not held over the fork: hooks of other packages run after this one, and may wait for a
    lock whose holder imports.
    """
    until = time.monotonic() + LONGEST_S
    time.sleep(PAUSE_S)
    while _importing() and time.monotonic() < until:
        time.sleep(PAUSE_S)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait)
