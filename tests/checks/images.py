"""The diffusers backend, with tiny pipelines of random weights."""

from __future__ import annotations

from .ground import BUILD, PYTHON, ROOT, last_line, requirements, run, site

FOLDER = BUILD / "images"
PACKAGES = ROOT / "tests" / "images" / "packages.txt"


def check_images() -> str:
    """All tests of tests/images."""
    packages = site(FOLDER, [*requirements("diffusers"), PACKAGES])
    env = {
        "PYTHONPATH": f"{packages}:{ROOT / 'python'}",
        "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
        "OMP_NUM_THREADS": "1",  # torch's threads beside those of the engine
    }
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/images"]
    return last_line(run(command, env=env, timeout=600))
