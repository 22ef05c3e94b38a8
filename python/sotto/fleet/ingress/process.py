"""`IngressProcess`: `sotto fleet ingress` as a child process, started again when it ends."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import sys
import threading
import time

from ...errors import ArgumentError
from .._folders import private_folder
from ..cluster.settings import DATABASE
from ..control.instance import start_child

log = logging.getLogger("sotto.fleet")
_START_TIMEOUT = 30.0  # seconds until it has to listen
_AGAIN = 1.0  # seconds before it is started again
_KILL_AFTER = 10.0  # seconds after the time for running answers


class IngressProcess:
    """The ingress of a node, for the workloads of a store. Used in a `with` statement, which ends it.

    Args:
        database: The store, as for `Store.open()`.
        host: IP address to listen at.
        port: Port to listen at.
        drain: Seconds in which running answers may end.
    """

    def __init__(self, database: str, host: str, port: int, drain: float) -> None:
        # The same folder each time: HAProxy of a process that was killed goes on, and is taken over.
        self._folder = private_folder("sotto-ingress") / f"{host.replace(':', '~')}-{port}"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        words = ["--host", host, "--port", str(port), "--drain", f"{drain:g}", "--folder", str(self._folder)]
        self._command = [sys.executable, "-m", "sotto.cli", "fleet", "ingress", *words]
        self._environment = {**os.environ, DATABASE: database, "PYTHONUNBUFFERED": "1"}
        self._log, self._drain = self._folder / "ingress.log", drain
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, name="sotto-ingress", daemon=True)
        self._ending = threading.Event()

    def __enter__(self) -> IngressProcess:
        """Starts the ingress; returns once it listens.

        Raises:
            ArgumentError: It ended, or did not listen in time.
        """
        self._log.unlink(missing_ok=True)
        with contextlib.ExitStack() as left:
            self._process = self._start()
            left.callback(self._process.kill)
            end = time.monotonic() + _START_TIMEOUT
            while b"ready at" not in self._log.read_bytes():
                if self._process.poll() is not None or time.monotonic() > end:
                    said = self._log.read_text(errors="replace").split("sotto: ")[-1].strip()
                    raise ArgumentError(f"the ingress did not start: {said[:500] or 'no reason'}")
                time.sleep(0.05)
            left.pop_all()
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends the ingress after its running answers."""
        self._ending.set()
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(self._drain + _KILL_AFTER)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log_file:
            return start_child(self._command, self._environment, log_file)

    def _keep(self) -> None:
        """Starts the process again whenever it ends. HAProxy has gone on meanwhile, and is taken over."""
        assert self._process is not None
        while True:
            status = self._process.wait()
            if self._ending.wait(_AGAIN):
                return
            log.warning("the ingress ended with status %s; starting it again", status)
            self._process = self._start()
