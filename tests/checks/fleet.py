"""The fleet: its clients, beside the published one, and the control plane on SQLite and PostgreSQL."""

from __future__ import annotations

from .ground import BUILD, JOBS, PYTHON, ROOT, last_line, run

NEEDS = ("postgres",)  # of ground.SYSTEM


def check_fleet() -> str:
    """All tests of tests/fleet."""
    env = {
        "PYTHONPATH": str(ROOT / "python"),
        "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
    }
    command = [PYTHON, "-m", "pytest", "-q", "-n", JOBS, "--dist", "loadfile", "-p", "no:cacheprovider"]
    return last_line(run([*command, "tests/fleet"], env=env, timeout=900))
