"""The step that plays samples/tavern: a window on a display of its own, with characters that speak."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

from .ground import BUILD, PYTHON, ROOT, last_line, run

NEEDS = ("Xvfb", "fc-list", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")  # of ground.SYSTEM
FOLDER = BUILD / "tavern"
PINS = ROOT / "tests" / "tavern" / "requirements.txt"


def site() -> Path:
    """Installs pygame-ce beside the virtual environment of the checks, once. Returns the folder."""
    folder, stamp = FOLDER / "site", FOLDER / "made-from"
    mark = hashlib.sha256(PINS.read_bytes() + sys.version.encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != mark:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        pins = ["--require-hashes", "--no-deps", "-r", PINS]
        run([PYTHON, "-m", "pip", "install", "-q", "--target", folder, *pins])
        stamp.write_text(mark)
    return folder


def check_tavern() -> str:
    """Types of the sample; its frames, alone on the machine; then everything else, two tests at once."""
    packages = str(site())
    mypy = [PYTHON, "-m", "mypy", "--config-file", "tests/tavern/mypy.ini", "--cache-dir", FOLDER / "mypy"]
    run([*mypy, "samples/tavern"], env={"MYPYPATH": os.pathsep.join((str(ROOT / "python"), packages))})
    env = {"PYTHONPATH": packages, "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so")}
    tests, frames = "tests/tavern", "tests/tavern/test_tavern_frames.py"
    pytest = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    printed = run([*pytest, frames], env=env, timeout=180)
    rest = run([*pytest, "-n", "2", f"--ignore={frames}", tests], env=env, timeout=180)
    figures = [
        line[len("tavern: ") :] for line in (printed + rest).splitlines() if line.startswith("tavern: ")
    ]
    return "; ".join([last_line(rest), *figures])
