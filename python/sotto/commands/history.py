"""Files of typed lines, one entry a line, that the prompts offer again."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_LONGEST = 1000  # lines of history


def path(name: str) -> Path:
    """Returns the history file `name` in Sotto's folder for persistent state of the current user."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        home = os.environ.get("XDG_STATE_HOME")
        base = Path(home) if home and os.path.isabs(home) else Path.home() / ".local" / "state"
    return base / "sotto" / name


def read(file: Path) -> list[str]:
    """Returns the entries of a history file, oldest first; none if there is no such file."""
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):  # the file does not exist yet, or is not a history file
        return []


def write(file: Path, lines: Sequence[str]) -> None:
    """Writes the last 1000 entries. The file is private to the user."""
    text = "".join(" ".join(line.splitlines()) + "\n" for line in lines[-_LONGEST:])
    with contextlib.suppress(OSError):  # a read-only home folder is not an error
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.chmod(0o600)
        file.write_text(text, encoding="utf-8")
