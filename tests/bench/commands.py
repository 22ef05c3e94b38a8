"""What programs print."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any


def printed(command: Sequence[object]) -> str:
    """All of it. What goes wrong ends this program too."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stderr}\n{' '.join(words)} failed with {done.returncode}")
    return done.stdout


def said(command: Sequence[object]) -> Any:
    """The JSON that it is."""
    return json.loads(printed(command))


def given(**values: object) -> list[str]:
    """Each as our benches read it."""
    return [f"{name}={value}" for name, value in values.items()]
