"""Runs `sotto fleet serve` as a process, for tests."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sotto import cli

READY = "sotto fleet: ready at "


@dataclass
class Served:
    """A control plane in a process of its own."""

    url: str
    process: subprocess.Popen[str]
    database: str

    def command(self, *words: str) -> str:
        """Runs `sotto fleet`. Returns what it prints."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            assert cli.main(["fleet", *words, "--database", self.database]) == 0
        return said.getvalue().strip()

    def children(self) -> list[int]:
        """Returns the ids of the processes of workloads."""
        return descendants(self.process.pid)


def descendants(pid: int) -> list[int]:
    """Returns the ids of processes whose parent is `pid`."""
    said = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(one) for one in said.split()]


@contextlib.contextmanager
def serving(folder: Path, *words: str, name: str = "serve", database: str | None = None) -> Iterator[Served]:
    """Starts `sotto fleet serve`, or another subcommand with a control plane, on a free port.

    `database`: the store; None: a file in the folder.
    """
    database = database or str(folder / "fleet.db")
    command = [sys.executable, "-m", "sotto.cli", "fleet", name, "--port", "0", "--database", database]
    command += words
    env = {**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": "/tmp"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        line = next((one for one in process.stdout if one.startswith(READY)), "")
        assert line, "the control plane ended before it was ready"
        try:
            yield Served(line.removeprefix(READY).strip(), process, database)
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(60)
