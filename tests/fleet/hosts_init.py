"""Process 1 of a host of hosts.py: reaps what others leave, and ends all of it on request or with the test.

Reads commands from its input, one per line: `kill` sends SIGKILL to all other processes of the host. At the
end of the input, which comes when the test ends in any way, the process ends, and the kernel kills the rest.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def main() -> None:
    """Serves commands until the input ends."""
    if os.getpid() != 1:
        sys.exit("hosts_init.py runs in a PID namespace of its own: it kills all processes that it sees")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps adopted processes
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the test, which then closes the input
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "kill":
            with contextlib.suppress(ProcessLookupError):  # nothing runs
                os.kill(-1, signal.SIGKILL)
        print("done", flush=True)


main()
