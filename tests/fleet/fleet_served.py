"""`sotto fleet serve` in a process of its own."""

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
def serving(folder: Path, *words: str) -> Iterator[Served]:
    """Starts `sotto fleet serve` on a free port, with further arguments."""
    database = str(folder / "fleet.db")
    command = [sys.executable, "-m", "sotto.cli", "fleet", "serve", "--port", "0", "--database", database]
    command += words
    env = {**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": "/tmp"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(READY), line
        try:
            yield Served(line.removeprefix(READY).strip(), process, database)
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(60)
