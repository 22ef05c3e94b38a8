"""Runs the sample in a process of its own, on a display of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from checks.cross import screen  # noqa: E402

SAMPLE = ROOT / "samples" / "tavern"
LONGEST = 40  # seconds of a run


def ahead() -> None:
    """Puts this process into a session of its own, before the processes of other sessions where permitted.

    Linux shares the processors between sessions (autogroups) first: beside a compiler in another session, the
    models of a game take from the game's own share, and `nice` has no effect.
    """
    os.setsid()
    with suppress(OSError):  # no autogroups, or not permitted: the run competes with other sessions
        Path("/proc/self/autogroup").write_text("-15")


def xvfb() -> AbstractContextManager[str]:
    """Starts an X server; entering it gives its display's name."""
    return screen("1280x720", ahead)


def start(display: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs the sample. `more`: environment variables; an empty one is removed."""
    env = {**os.environ, "DISPLAY": display, "SDL_VIDEODRIVER": "", **more}
    return subprocess.run(
        [sys.executable, str(SAMPLE), *words],
        env={name: value for name, value in env.items() if value},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        preexec_fn=ahead,
        check=False,
    )


def play(display: str, *words: str, script: str = "", folder: Path | None = None) -> dict[str, Any]:
    """Runs the sample with a script and returns its report."""
    if script:
        assert folder is not None
        path = folder / "script.txt"
        path.write_text(script, encoding="utf-8")
        words = (*words, "--script", str(path))
    done = start(display, "--json", *words)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def spoken(report: dict[str, Any], **wanted: object) -> list[dict[str, Any]]:
    """Returns the complete lines of a report whose fields have the wanted values."""
    lines = (line for line in report["lines"] if not line["error"])
    return [line for line in lines if all(line[name] == value for name, value in wanted.items())]
