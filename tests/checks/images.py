"""The diffusers backend, with tiny pipelines of random weights."""

from __future__ import annotations

import hashlib
import shutil
import sys

from .ground import BUILD, PYTHON, ROOT, last_line, requirements, run

FOLDER = BUILD / "images"
PACKAGES = ROOT / "tests" / "images" / "packages.txt"


def site() -> str:
    """Installs the extra beside the virtual environment of the checks, once; the folder."""
    folder, stamp = FOLDER / "site", FOLDER / "made-from"
    wanted = requirements("diffusers")
    mark = hashlib.sha256(f"{wanted} {PACKAGES.read_text()} {sys.version}".encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != mark:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run([PYTHON, "-m", "pip", "install", "-q", "--target", folder, *wanted, "-r", PACKAGES])
        stamp.write_text(mark)
    return str(folder)


def check_images() -> str:
    """All tests of tests/images."""
    env = {
        "PYTHONPATH": f"{site()}:{ROOT / 'python'}",
        "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
        "OMP_NUM_THREADS": "1",  # torch's threads beside those of the engine
    }
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/images"]
    return last_line(run(command, env=env, timeout=600))
