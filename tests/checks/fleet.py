"""The fleet: its clients, beside the published one, and the control plane on SQLite and PostgreSQL."""

from __future__ import annotations

import sys

from .ground import BUILD, JOBS, PYTHON, ROOT, Failed, NotRun, is_full, last_line, run

NEEDS = ("postgres", "haproxy", "redis-server")  # of ground.SYSTEM
RAY_NEEDS = ("postgres", "haproxy", "redis-server")
HOSTS_NEEDS = ("haproxy", "ip", "postgres")
ENV = {
    "PYTHONPATH": str(ROOT / "python"),
    "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
}
PYTEST = (PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider")


TESTS = ROOT / "tests" / "fleet"
RAY = sorted(set(TESTS.glob("test_fleet_ray*.py")) - {TESTS / "test_fleet_ray_logic.py"})
RAY_STARTS = """
import ray
ray.init("local", num_cpus=1, include_dashboard=False, _node_ip_address="127.0.0.2", log_to_driver=False)
assert ray.get(ray.remote(lambda: 1).remote(), timeout=60) == 1
"""


def check_fleet() -> str:
    """All tests of tests/fleet, but those on hosts of their own and on a Ray cluster."""
    others = ["--ignore-glob=*/test_hosts*.py", *(f"--ignore={one}" for one in RAY)]
    command = [*PYTEST, "-n", JOBS, "--dist", "loadfile", *others, "tests/fleet"]
    return last_line(run(command, env=ENV, timeout=1500))


def check_ray() -> str:
    """Workloads on a Ray cluster of two nodes; with --full, all of them, and the head is lost.

    Without --full, one workload, whose replica is killed.

    Raises:
        NotRun: Ray does not start on this machine.
    """
    try:
        run([PYTHON, "-c", RAY_STARTS], env={"RAY_USAGE_STATS_ENABLED": "0"}, timeout=180)
    except Failed as failed:
        raise NotRun(f"Ray does not start here: {str(failed).strip().splitlines()[-1][:200]}") from None
    chosen = [] if is_full() else ["-k", "provision"]
    return last_line(run([*PYTEST, *chosen, *RAY], env=ENV, timeout=1800))


def check_hosts() -> str:
    """The tests on four hosts: Linux namespaces, which only root can make.

    Raises:
        NotRun: this machine or user cannot make them.
    """
    sys.path.append(str(TESTS))
    import hosts

    if (reason := hosts.missing()) is not None:
        raise NotRun(reason)
    files = sorted(TESTS.glob("test_hosts*.py"))
    return last_line(run([*PYTEST, *files], env=ENV, timeout=2400))
