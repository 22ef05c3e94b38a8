"""Lets Ctrl-C end the `sotto` command silently while its modules are imported.

Must be imported before all other modules. Does nothing in any other program.
"""

from __future__ import annotations

import os
import signal
import sys


def _is_command() -> bool:
    name = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
    return name == "sotto" or (name == "-m" and "sotto.cli" in sys.orig_argv)


def _quieten() -> bool:
    if not _is_command() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:  # not the main thread
        return False
    return True


quiet = _quieten()  # True: SIGINT has the system's default action until the command sets its own
