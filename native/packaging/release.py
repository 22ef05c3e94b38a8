"""Returns version and file time of the packaged release; defines the error that ends the command."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
OLDEST_TIME = 315532800  # 1980-01-01: a zip archive cannot hold an older time


class PackagingError(Exception):
    """Packaging stopped; the message names the file and the way out."""


def version() -> str:
    """Returns SOTTO_VERSION of include/sotto/base.h, its only definition."""
    text = (ROOT / "include" / "sotto" / "base.h").read_text(encoding="utf-8")
    found = re.search(r'^#define SOTTO_VERSION "([^"]+)"', text, re.M)
    if found is None:
        raise PackagingError("include/sotto/base.h has no SOTTO_VERSION; restore its definition")
    return found[1]


def source_date_epoch() -> int:
    """Returns the time of every file in every package, in seconds since 1970.

    SOURCE_DATE_EPOCH if it is set, else the time of the last commit, else 1980-01-01. Never the current time,
    so that two runs write identical bytes.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is not None:
        if not given.isdigit():
            raise PackagingError(
                f"invalid SOURCE_DATE_EPOCH '{given}': expected seconds since 1970; "
                "unset it to use the time of the last commit"
            )
        return max(int(given), OLDEST_TIME)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except OSError:
        return OLDEST_TIME
    return max(int(done.stdout), OLDEST_TIME) if done.stdout.strip().isdigit() else OLDEST_TIME


def sibling(name: str) -> ModuleType:
    """Imports native/<name>.py.

    Imported by path: native/ on sys.path would hide the PyPI package `packaging` behind this folder.
    """
    spec = importlib.util.spec_from_file_location(f"sotto_{name}", ROOT / "native" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
