"""The fleet: its clients, beside the published one, and the control plane on SQLite and PostgreSQL."""

from __future__ import annotations

import sys

from .ground import BUILD, JOBS, PYTHON, ROOT, NotRun, last_line, run

NEEDS = ("postgres", "haproxy")  # of ground.SYSTEM
HOSTS_NEEDS = ("haproxy", "ip")
ENV = {
    "PYTHONPATH": str(ROOT / "python"),
    "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
}
PYTEST = (PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def check_fleet() -> str:
    """All tests of tests/fleet, but those on hosts of their own."""
    command = [*PYTEST, "-n", JOBS, "--dist", "loadfile", "--ignore-glob=*/test_hosts*.py", "tests/fleet"]
    return last_line(run(command, env=ENV, timeout=900))


def check_hosts() -> str:
    """The tests on four hosts: Linux namespaces, which only root can make.

    Raises:
        NotRun: this machine or user cannot make them.
    """
    sys.path.append(str(ROOT / "tests" / "fleet"))
    import hosts

    if (reason := hosts.missing()) is not None:
        raise NotRun(reason)
    files = sorted((ROOT / "tests" / "fleet").glob("test_hosts*.py"))
    return last_line(run([*PYTEST, *files], env=ENV, timeout=900))
