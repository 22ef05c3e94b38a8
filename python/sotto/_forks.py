"""Has fork() wait for imports that other threads are in the middle of.

A child has none of those threads, but the interpreter's locks of the modules that they were importing, for
ever. Parts of this package are imported when they are first needed, so any thread that loads its first model
may be importing.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

LONGEST_S = 1.0


def _importing() -> bool:
    """Whether another thread is."""
    locks: dict[str, Any] = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    me = threading.get_ident()
    owners = [getattr(reference(), "owner", None) for reference in list(locks.values())]
    return any(owner not in (None, me) for owner in owners)


def _wait() -> None:
    until = time.monotonic() + LONGEST_S
    while _importing() and time.monotonic() < until:
        time.sleep(0.0005)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait)
