"""PostgreSQL in a folder of its own, on a unix socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name))


class Postgres:
    """A server. `database()` makes an empty database."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._user = folder, "postgres" if os.geteuid() == 0 else None

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        options = f"-k {self._folder} -c listen_addresses='' -c fsync=off -c max_connections=200"
        self.command(
            "pg_ctl", "-D", f"{self._folder}/data", "-w", "-l", f"{self._folder}/log", "-o", options, "start"
        )

    def stop(self) -> None:
        """Stops the server at once."""
        self._control("-m", "immediate", "stop")

    def database(self) -> str:
        """Makes a database. Returns its address."""
        name = f"t{uuid.uuid4().hex}"
        self.command("createdb", "-h", str(self._folder), "-U", "postgres", name)
        return f"postgresql://postgres@/{name}?host={self._folder}"

    def _control(self, *arguments: str) -> None:
        self.command("pg_ctl", "-D", f"{self._folder}/data", "-w", *arguments)

    def command(self, name: str, *arguments: str) -> None:
        """Runs a program of PostgreSQL; as its own user if this one is root, whom it refuses."""
        words = [str(BINARIES[-1] / name), *arguments]
        if self._user is not None:
            words = ["setpriv", f"--reuid={self._user}", f"--regid={self._user}", "--clear-groups", *words]
        with open(self._folder.with_suffix(".out"), "ab") as said:
            subprocess.run(words, check=True, cwd="/", stdout=said, stderr=said, stdin=subprocess.DEVNULL)


@contextmanager
def running() -> Iterator[Postgres]:
    """A server, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="sotto-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    server = Postgres(folder)
    try:
        server.command("initdb", "-D", f"{folder}/data", "-U", "postgres", "-A", "trust", "-N")
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".out").unlink(missing_ok=True)
