"""The module sotto_onnx beside ONNX Runtime's own package, on models made at test time."""

from __future__ import annotations

from .ground import BUILD, ROOT, last_line, pytest_words, requirements, run, site

FOLDER = BUILD / "matting"
PACKAGES = ROOT / "tests" / "matting" / "packages.txt"


def check_matting() -> str:
    """All tests of tests/matting."""
    packages = site(FOLDER, [*requirements("images"), PACKAGES])
    env = {
        "PYTHONPATH": f"{packages}:{ROOT / 'python'}:{ROOT / 'tests' / 'python'}",
        "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
    }
    return last_line(run(pytest_words("tests/matting"), env=env, timeout=900))
