"""The step that plays samples/tavern: a window on a display of its own, with characters that speak."""

from __future__ import annotations

import os

from .ground import BUILD, PYTHON, ROOT, last_line, run, site

NEEDS = ("Xvfb", "fc-list", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")  # of ground.SYSTEM
FOLDER = BUILD / "tavern"
PINS = ROOT / "tests" / "tavern" / "requirements.txt"


def check_tavern() -> str:
    """Types of the sample; its frames, alone on the machine; then everything else, two tests at once."""
    packages = site(FOLDER, ["--require-hashes", "--no-deps", PINS])
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
