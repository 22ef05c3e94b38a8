"""The first moments of the `sotto` command: Ctrl-C ends it silently while its modules are imported.

Imported before all others. Does nothing in a program that is not this command.
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


quiet = _quieten()  # whether the system's own way is in force, until the command is ready for another
