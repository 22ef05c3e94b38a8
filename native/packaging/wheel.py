"""Builds the wheel with native/release_wheel.py, or checks a wheel that was built already."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

from release import PackagingError, sibling


def release_wheel(folder: Path, epoch: int) -> Path:
    """Builds the wheel that is released, and checks it.

    Args:
        folder: Folder for the wheel.
        epoch: Time of the files in it.

    Returns:
        The wheel's file.

    Raises:
        PackagingError: The wheel needs a newer system than its name says, or is not hardened.
    """
    road = sibling("release_wheel")
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    wheel: Path = road.build(folder)
    if road.look([wheel]) != 0:
        raise PackagingError(f"{wheel.name} must not be released; the lines above say why")
    return wheel


def check(wheel: Path, version: str) -> None:
    """Checks that a file is a wheel of this version.

    Raises:
        PackagingError: The file is missing, is not a wheel, or has another version.
    """
    if not wheel.is_file():
        raise PackagingError(
            f"invalid --wheel '{wheel}': no such file; python native/release_wheel.py builds one"
        )
    try:
        with zipfile.ZipFile(wheel) as archive:
            (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            text = archive.read(metadata).decode()
    except (zipfile.BadZipFile, ValueError):
        raise PackagingError(f"invalid --wheel '{wheel}': expected a wheel; build it again") from None
    found = re.search(r"^Version: (.+)$", text, re.M)
    named = found[1].strip() if found else "none"
    if named != version:
        raise PackagingError(
            f"invalid --wheel '{wheel}': expected version {version}, found {named}; build it again"
        )
