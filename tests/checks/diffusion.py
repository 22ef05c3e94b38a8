"""The module sotto_diffusion, on tiny models with random weights."""

from __future__ import annotations

from .ground import BUILD, PYTHON, ROOT, last_line, run


def check_diffusion() -> str:
    """All tests of tests/diffusion."""
    env = {
        "PYTHONPATH": str(ROOT / "python"),
        "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
    }
    tests = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/diffusion"]
    return last_line(run(tests, env=env, timeout=900))
