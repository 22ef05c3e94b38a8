"""How a child process ended."""

from __future__ import annotations

import signal


def how_ended(status: int) -> str:
    """Returns "exit status 3" for the status of a process, or "SIGSEGV" for a negative one, of a signal."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
