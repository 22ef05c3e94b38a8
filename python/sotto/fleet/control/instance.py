"""One process of a workload on this machine: started, watched until it answers, ended."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO

import httpx2

from .launch import Launch

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_SET_PDEATHSIG = 1
_HEALTH_EVERY = 0.1  # seconds
_LOG_TAIL = 8192  # bytes of a log that are searched for the reason of an end
_KILL_AFTER = 10.0  # seconds after the time for running answers


class Instance:
    """A process, from its start to its end. `log`: the file that receives what it prints."""

    def __init__(self, launch: Launch, log: Path) -> None:
        self.launch, self.log = launch, log
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Starts the process. It ends when this one does, even if this one is killed (Linux).

        Raises:
            OSError: The program cannot be started.
        """
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.launch.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                env=self.launch.environment,
                start_new_session=True,  # a Ctrl-C in the terminal is for the control plane alone
                preexec_fn=end_with_parent if _LIBC is not None else None,
            )
        finally:
            os.close(descriptor)

    async def answers(self) -> bool:
        """Waits until the process answers on `/health`. Returns False if it ended before."""
        process = self._running()
        async with client(self.launch.address, timeout=5.0) as http:
            while process.returncode is None:
                with contextlib.suppress(httpx2.TransportError, OSError):
                    if (await http.get("/health")).status_code == 200:
                        return True
                await asyncio.sleep(_HEALTH_EVERY)
        return False

    async def wait(self) -> int:
        """Waits for the end. Returns the exit status."""
        return await self._running().wait()

    @property
    def started(self) -> bool:
        """True once the process has an id."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Process id."""
        return self._running().pid

    async def end(self, drain: float) -> None:
        """Ends the process; lets running answers end for `drain` seconds."""
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), drain + _KILL_AFTER)
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        kind, _, path = self.launch.address.partition(":")
        if kind == "unix":
            Path(path).unlink(missing_ok=True)

    def reason(self) -> str:
        """Returns why the process ended: its last line, or its exit status."""
        with contextlib.suppress(OSError), self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _LOG_TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
            said = [line.strip() for line in lines if line.strip()]
            own = [line.removeprefix("sotto: ") for line in said if line.startswith("sotto: ")]
            if own or said:
                return (own or said)[-1][:500]
        code = None if self._process is None else self._process.returncode
        return f"the process ended with status {code}"

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("the process was not started")
        return self._process


def client(address: str, *, timeout: float | None = None) -> httpx2.AsyncClient:
    """Returns an HTTP client for an address `unix:PATH` or a URL of this network."""
    kind, _, path = address.partition(":")
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=2.0)
    transport = httpx2.AsyncHTTPTransport(
        verify=False, uds=path if kind == "unix" else None, limits=limits, trust_env=False
    )
    base = "http://localhost" if kind == "unix" else address
    return httpx2.AsyncClient(transport=transport, base_url=base, timeout=timeout, follow_redirects=False)


def free_port() -> int:
    """Returns a port of this machine on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_child(command: list[str], environment: dict[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Starts a process that prints to a file and ends when this one does, even if this one is killed.

    Raises:
        OSError: The program cannot be started.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=environment,
        start_new_session=True,  # a Ctrl-C in the terminal is for this process alone
        preexec_fn=end_with_parent,
    )


def end_with_parent() -> None:
    """Runs in the child, between fork and exec: SIGTERM when the parent ends."""
    assert _LIBC is not None
    _LIBC.prctl(_SET_PDEATHSIG, signal.SIGTERM)
