"""A Redis server as a process, for tests."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from sotto.fleet.control.instance import free_port

PASSWORD = "s3cret-of-redis"


@contextlib.contextmanager
def redis_server(folder: Path, *words: str, password: str | None = PASSWORD) -> Iterator[str]:
    """Runs `redis-server`. Yields `HOST:PORT`."""
    program = shutil.which("redis-server")
    assert program is not None, "redis-server is missing: apt-get install redis-server"
    port = free_port()
    config = folder / "redis.conf"
    config.write_text("" if password is None else f"requirepass {password}\n")  # `ps` does not show it
    command = [program, str(config), "--bind", "127.0.0.1", "--port", str(port), "--save", "", *words]
    null = subprocess.DEVNULL
    with subprocess.Popen([*command, "--dir", str(folder)], stdout=null, stderr=null) as process:
        try:
            end = time.monotonic() + 30
            while True:
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                assert process.poll() is None and time.monotonic() < end, "Redis does not start"
                time.sleep(0.05)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
