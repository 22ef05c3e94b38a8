"""The CTranslate2 backend: Whisper and MiniLM with real weights, the house model, trained translators."""

from __future__ import annotations

from .ground import BUILD, ROOT, last_line, pytest_words, requirements, run, site

NEEDS = ("espeak-ng",)  # of ground.SYSTEM
FOLDER = BUILD / "speech"
PINS = ROOT / "tests" / "speech" / "requirements.txt"  # weights
PACKAGES = ROOT / "tests" / "speech" / "packages.txt"


def check_speech() -> str:
    """All tests of tests/speech."""
    packages = site(FOLDER, [*requirements("ctranslate2", "convert"), PACKAGES], ["--no-deps", PINS])
    env = {
        "PYTHONPATH": f"{packages}:{ROOT / 'python'}",
        "SOTTO_TRAINED_MODELS": str(FOLDER / "models"),  # trained once
        "SOTTO_LIBRARY": str(BUILD / "release" / "out" / "libsotto.so"),
    }
    printed = run(pytest_words("tests/speech"), env=env, timeout=2400)
    figures = [line[len("speech: ") :] for line in printed.splitlines() if line.startswith("speech: ")]
    return "; ".join([last_line(printed), *figures])
