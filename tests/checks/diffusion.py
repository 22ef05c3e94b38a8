"""The module sotto_diffusion, on tiny models with random weights."""

from __future__ import annotations

from .ground import BUILD, ROOT, last_line, pytest_words, run


def check_diffusion() -> str:
    """All tests of tests/diffusion."""
    env = {
        "PYTHONPATH": str(ROOT / "python"),
        "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
    }
    return last_line(run(pytest_words("tests/diffusion"), env=env, timeout=900))
