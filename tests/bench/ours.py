"""The Python package of this checkout, on the library of a build."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

from peers import ROOT


def package(build: Path) -> ModuleType:
    """It, once a build is known."""
    os.environ["SOTTO_LIBRARY"] = str((build / "out" / "libsotto.so").resolve())
    sys.path.insert(0, str(ROOT / "python"))
    return importlib.import_module("sotto")
