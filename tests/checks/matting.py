"""The module sotto_onnx beside ONNX Runtime's own package, on models made at test time."""

from __future__ import annotations

import hashlib
import shutil
import sys

from .ground import BUILD, PYTHON, ROOT, last_line, requirements, run

FOLDER = BUILD / "matting"
PACKAGES = ROOT / "tests" / "matting" / "packages.txt"


def site() -> str:
    """Installs what the tests compare with beside the virtual environment of the checks, once; the folder."""
    folder, stamp = FOLDER / "site", FOLDER / "made-from"
    wanted = requirements("images")
    mark = hashlib.sha256(f"{wanted} {PACKAGES.read_text()} {sys.version}".encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != mark:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run([PYTHON, "-m", "pip", "install", "-q", "--target", folder, *wanted, "-r", PACKAGES])
        stamp.write_text(mark)
    return str(folder)


def check_matting() -> str:
    """All tests of tests/matting."""
    env = {
        "PYTHONPATH": f"{site()}:{ROOT / 'python'}",
        "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
    }
    tests = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/matting"]
    return last_line(run(tests, env=env, timeout=900))
