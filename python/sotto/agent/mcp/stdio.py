"""A server as a child process: its wire, and its end."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

from .meter import MAX_MESSAGE, Meter
from .sources import McpProcess
from .streams import Incoming, Outgoing

_GRACE = 1.0  # seconds that a server has to end by itself, and again after SIGTERM
_KILLED = 1.0  # seconds in which a killed process ends
_STEP = 0.01  # seconds between two looks at a process
_TAIL = 4096  # bytes of standard error that are kept

_children: dict[int, int] = {}  # ids of running servers, and of the processes that started them


@contextlib.asynccontextmanager
async def stdio_transport(source: McpProcess, meter: Meter) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Starts the program of a server, and ends it and what it started.

    Raises:
        OSError: The program cannot be started.
    """
    child = await _start(source)
    reading = asyncio.ensure_future(child.read_errors())
    try:
        yield Incoming(child, meter), Outgoing(child, meter)
    finally:
        reading.cancel()
        await _settled(child.stop())
        meter.reason = child.last_words(meter.reason)


class Child:
    """A running server. `receive()` and `send()` take a message in a line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._sending = asyncio.Lock()
        self._tail = b""
        self._too_long = False
        self._closed = False  # by the program
        self._stopped = False  # by us

    async def receive(self) -> bytes | None:
        """Waits for a line. None: the program has closed its output, or sent a line that is too long."""
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            self._too_long = True
        except (asyncio.IncompleteReadError, OSError):
            self._closed = True
        return None

    async def send(self, message: bytes) -> None:
        """Writes a line."""
        pipe = self._process.stdin
        assert pipe is not None
        async with self._sending:
            if pipe.is_closing():
                raise BrokenPipeError
            pipe.write(message + b"\n")
            await pipe.drain()

    async def read_errors(self) -> None:
        """Reads standard error, so that the program does not wait, and keeps its end."""
        assert self._process.stderr is not None
        while part := await self._process.stderr.read(_TAIL):
            self._tail = (self._tail + part)[-_TAIL:]

    def last_words(self, reason: str) -> str:
        """Returns why the program ended."""
        if self._too_long:
            return f"it sent a message of more than {MAX_MESSAGE} bytes"
        status = self._process.returncode
        if self._stopped or status is None:
            return reason
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        said = f": {lines[-1].strip()}" if lines else ""
        how = f"exit status {status}" if status >= 0 else f"signal {-status}"
        return f"the program ended with {how}{said}"

    async def stop(self) -> None:
        """Closes the input, waits, and then ends the program and its children by force. Bounded."""
        process = self._process
        assert process.stdin is not None
        process.stdin.close()
        self._stopped = not self._closed and process.returncode is None
        if not await self._ends(_GRACE):
            self._stopped = True
            _signal(process.pid, signal.SIGTERM)
            await self._ends(_GRACE)
        _signal(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # also what it started
        await self._ends(_KILLED)
        if process.returncode is not None:
            _children.pop(process.pid, None)
        transport: Any = getattr(process, "_transport", None)
        if transport is not None:  # a process that left the group may hold the pipes open
            with contextlib.suppress(PermissionError):
                transport.close()

    async def _ends(self, seconds: float) -> bool:
        """Waits for the end. Not by `Process.wait()`, which also waits until all pipes are closed."""
        until = time.monotonic() + seconds
        while self._process.returncode is None:
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(_STEP)
        return True


async def _start(source: McpProcess) -> Child:
    from mcp.client.stdio import get_default_environment

    env = {**get_default_environment(), **(source.env or {})}
    command = shutil.which(source.command, path=env.get("PATH")) or source.command
    options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NO_WINDOW}
    process = await asyncio.create_subprocess_exec(
        command,
        *source.args,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=source.cwd,
        limit=MAX_MESSAGE,
        **options,
    )
    _children[process.pid] = os.getpid()
    return Child(process)


def _signal(pid: int, number: int) -> None:
    """Sends a signal to a process and to its group. Does nothing if both have ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, number)
        else:
            os.killpg(pid, number)  # the process leads its group


async def _settled(work: Any) -> None:
    """Completes work, also if the task is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


def _end_children() -> None:
    """Ends the servers that still run when the interpreter exits. A forked process leaves them alone."""
    mine = [pid for pid, parent in list(_children.items()) if parent == os.getpid()]
    for pid in mine:
        _signal(pid, signal.SIGTERM)
    if mine and not _gone(mine, _GRACE / 2):
        for pid in mine:
            _signal(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        _gone(mine, _KILLED)


def _gone(pids: list[int], seconds: float) -> bool:
    """Waits until processes have ended and were reaped, by the thread or the loop that watches them."""
    until = time.monotonic() + seconds
    while any(_exists(pid) for pid in pids):
        if time.monotonic() >= until:
            return False
        time.sleep(_STEP)
    return True


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


atexit.register(_end_children)
