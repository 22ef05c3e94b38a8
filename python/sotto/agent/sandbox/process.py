"""`Process`: a Python process behind walls, which runs one call at a time."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..._ended import how_ended
from ...errors import Status
from .folder import WorkFolder
from .launch import Launcher
from .output import MAX_BYTES, CutOutput
from .results import Ended, SandboxError
from .watch import POLL_SECONDS, Watch, make_first_victim, usage_of

START_SECONDS = 20.0
_REAP_SECONDS = 2.0
_CHUNK = 1 << 16
_TOKEN = 16  # bytes, see guest.py
_REPLY = _TOKEN + 1
_CREDENTIALS = struct.Struct("3i")  # process, user, group


@dataclass(frozen=True)
class Reply:
    """How a call ended: `ok` is False if the code raised."""

    ok: bool
    output: str
    seconds: float


class Process:
    """A process that is started, called and ended by one thread.

    The thread has to live as long as the process: the kernel ends the process when that thread ends. Between
    calls, the process is stopped. `walls` names those that were put up from inside.

    Args:
        launcher: How it is started.
        cancelled: Set by another thread to end the process during a start or a call.

    Raises:
        SandboxError: It could not be started. The message says what failed.
    """

    def __init__(self, launcher: Launcher, cancelled: threading.Event) -> None:
        self._launcher = launcher
        self._cancelled = cancelled
        self._user = launcher.new_user()
        try:
            self.folder = WorkFolder(self._user)
        except OSError as error:
            raise SandboxError(f"the sandbox has no work folder: {error}", Status.UNSUPPORTED) from None
        self._pid = 0
        self._first = 0  # id of the first process of its namespace, with which all others end
        self._pidfds: dict[int, int] = {}  # by process id
        self._pipes: list[int] = []
        self._popen: subprocess.Popen[bytes] | None = None
        try:
            self._launch()
            self.walls: dict[str, bool] = self._greet(time.monotonic() + START_SECONDS)
        except Ended as ended:
            self.end()
            raise _error(f"the sandbox did not start: {ended.reason}", ended, Status.UNSUPPORTED) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.end()
            raise SandboxError(f"the sandbox did not start: {error}", Status.UNSUPPORTED) from None
        except BaseException:
            self.end()
            raise

    # Start

    def _launch(self) -> None:
        requests, self._requests = self._kept(*os.pipe())
        self._output, output = self._kept(*os.pipe())
        self._info, info = self._kept(*os.pipe())
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # the kernel adds the id of who writes
        self._replies, replies = self._kept(ours.detach(), theirs.detach())
        work = self.folder.path
        self._popen = subprocess.Popen(
            self._launcher.command(work, requests, replies, info),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(requests, replies, info),
            env=self._launcher.environment(work),
            cwd="/",
            start_new_session=True,
        )
        for one in (requests, replies, output, info):
            self._close(one)
        for one in (self._requests, self._replies, self._output, self._info):
            os.set_blocking(one, False)

    def _greet(self, until: float) -> dict[str, bool]:
        """Sends the configuration, and returns the walls that the process has put up."""
        inner_pid = self._frame(until, b"")
        self._first = self._find_first()
        config = self._launcher.configuration(self.folder.path, inner_pid, self._user)
        data = json.dumps(config).encode()
        found: dict[str, bool] = self._frame(until, len(data).to_bytes(4, "little") + data)
        make_first_victim(self._pid)
        self._send(signal.SIGSTOP, self._pid)
        return found

    def _frame(self, until: float, data: bytes) -> Any:
        """Sends data, and returns the next frame of the process. Notes the id of who wrote it."""
        output, said = CutOutput(2048), b""
        while len(said) < 4 or len(said) < 4 + int.from_bytes(said[:4], "little"):
            if data:
                with suppress(BrokenPipeError):
                    data = data[_write(self._requests, data[:_CHUNK]) :]
            self._wait(until, f"answer within {START_SECONDS:g} s", output, writes=bool(data))
            part = self._read_reply()
            if part == b"":
                self._drain(output)
                raise Ended("exited", self._last_words(output))
            said += part or b""
        return json.loads(said[4:])

    def _read_reply(self) -> bytes | None:
        """Returns what the process wrote; None: nothing, b"": it has closed its end."""
        with socket.socket(fileno=os.dup(self._replies)) as replies:
            try:
                data, extra, _, _ = replies.recvmsg(_CHUNK, socket.CMSG_SPACE(_CREDENTIALS.size))
            except BlockingIOError:
                return None
            except ConnectionResetError:
                return b""
        for level, kind, value in extra:
            if data and not self._pid and (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                self._pid = _CREDENTIALS.unpack(value)[0]
                self._hold(self._pid)
        return data

    def _find_first(self) -> int:
        """Returns the id of the first process of the namespace, which bubblewrap has written."""
        if self._launcher.bubblewrap is None:
            return self._pid
        first = int(json.loads(_read(self._info) or b"{}")["child-pid"])
        self._hold(first)
        return first

    def _hold(self, pid: int) -> None:
        """Keeps a process from being mistaken for another that gets its id."""
        if hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal"):
            with suppress(OSError):  # before Linux 5.3
                (self._pidfds[pid],) = self._kept(os.pidfd_open(pid))

    def _last_words(self, output: CutOutput) -> str:
        lines = [line for line in output.text.splitlines() if line.strip()]
        return lines[-1].strip() if lines else self._how_ended(_REAP_SECONDS)

    # Calls

    @property
    def alive(self) -> bool:
        """True unless the process has ended."""
        used = usage_of(self._pid)
        return used is not None and used.state not in "ZX"

    def call(self, code: bytes, cancelled: threading.Event) -> Reply:
        """Runs code. The process is stopped afterwards.

        Args:
            code: The code, in UTF-8.
            cancelled: Set by another thread to end the process.

        Raises:
            SandboxError: A limit was exceeded, the call was cancelled, or the process ended itself. It was
                reaped; `end()` removes its folder.
        """
        began = time.monotonic()
        self._cancelled = cancelled
        output = CutOutput(self._launcher.limits.output)
        try:
            ok = self._call(code, began, output)
        except Ended as ended:
            self.kill()
            reason = f"{ended.reason}; the variables and files of this session are gone"
            error = _error(reason, ended, Status.INFERENCE)
            error.output, error.seconds = output.text, time.monotonic() - began
            raise error from None
        return Reply(ok, output.text, time.monotonic() - began)

    def _call(self, code: bytes, began: float, output: CutOutput) -> bool:
        limit = self._launcher.limits.time_limit
        token = secrets.token_bytes(_TOKEN)
        frame = token + code
        self._send(signal.SIGCONT, self._pid)
        with suppress(BrokenPipeError):
            data = len(frame).to_bytes(4, "little") + frame
            if _write(self._requests, data) != len(data):
                raise Ended("protocol", "the code read or filled the pipe of the sandbox")
        said = b""
        watch = Watch(self._pid, self.folder, self._launcher.limits)
        while len(said) < _REPLY:
            self._wait(began + limit, f"result within {limit:g} s", output)
            watch.look(output)
            part = self._read_reply()
            if part == b"":
                self._drain(output)
                raise Ended("exited", self._end_of_its_own())
            said += part or b""
        self._send(signal.SIGSTOP, self._pid)
        self._drain(output)
        if len(said) != _REPLY or said[:_TOKEN] != token:
            raise Ended("protocol", "the code wrote to the pipe of the sandbox")
        watch.check(output)
        return said[_TOKEN] == 1

    def _wait(self, until: float, what: str, output: CutOutput, writes: bool = False) -> None:
        """Waits for the process, at most for a moment. Reads output. Raises `Ended` at the time `until`."""
        left = until - time.monotonic()
        if self._cancelled.is_set():
            raise Ended("cancelled", "cancelled")
        if left <= 0:
            raise Ended("time_limit", f"no {what}")
        poll = select.poll()
        poll.register(self._replies, select.POLLIN)
        poll.register(self._output, select.POLLIN)
        if writes:
            poll.register(self._requests, select.POLLOUT)
        events = dict(poll.poll(1000 * min(left, POLL_SECONDS)))
        if self._output in events and (part := _read(self._output)):
            output.add(part)
        elif self._replies not in events:
            time.sleep(0.001)  # poll() returns at once for a pipe whose other end is closed

    def _drain(self, output: CutOutput) -> None:
        """Reads what is left in the pipe of the output."""
        for _ in range(MAX_BYTES // _CHUNK):
            part = _read(self._output)
            if not part:
                return
            output.add(part)

    def _how_ended(self, seconds: float) -> str:
        """Waits until the process has ended. Returns how. Raises `subprocess.TimeoutExpired`."""
        assert self._popen is not None
        status = self._popen.wait(seconds)
        inside = self._launcher.bubblewrap is not None  # which has a status above 128 for a signal
        return how_ended(128 - status if inside and status > 128 else status)

    def _end_of_its_own(self) -> str:
        """Waits until the process has ended, which has closed its pipes. Returns how."""
        try:
            return f"the Python process ended itself: {self._how_ended(0.5)}"
        except subprocess.TimeoutExpired:
            return "the code closed the pipe of the sandbox"

    @property
    def pid(self) -> int:
        """Id of the process, as this process sees it."""
        return self._pid

    # End

    def end(self) -> None:
        """Ends the process, reaps it, and removes its folder. A second call does nothing."""
        self.kill()
        self.folder.remove()

    def kill(self) -> None:
        """Ends the process and reaps it. A second call does nothing."""
        popen, self._popen = self._popen, None
        if popen is not None:
            with suppress(PermissionError):  # of a host without CAP_KILL; the closed pipes end the process
                if self._first:
                    self._send(signal.SIGKILL, self._first)
                else:
                    popen.kill()  # it has not begun
        for one in list(self._pipes):
            self._close(one)
        self._pidfds.clear()
        if popen is not None:
            try:
                popen.wait(_REAP_SECONDS)
            except subprocess.TimeoutExpired:
                popen.kill()
                popen.wait()
            _reap(self._first)

    def _send(self, number: signal.Signals, pid: int) -> None:
        """Sends a signal to a process, not to another that has got its id meanwhile."""
        with suppress(ProcessLookupError):
            if pid in self._pidfds:
                signal.pidfd_send_signal(self._pidfds[pid], number)
            elif usage_of(pid) is not None:
                os.kill(pid, number)

    def _kept(self, *descriptors: int) -> tuple[int, ...]:
        """Has `kill()` close descriptors."""
        self._pipes += descriptors
        return descriptors

    def _close(self, one: int) -> None:
        self._pipes.remove(one)
        with suppress(OSError):
            os.close(one)


def _error(text: str, ended: Ended, status: Status) -> SandboxError:
    cancelled = ended.ending == "cancelled"
    error = SandboxError(text, Status.CANCELLED if cancelled else status)
    error.ending = ended.ending
    return error


def _read(pipe: int) -> bytes | None:
    """Returns what is in a pipe; None if it is empty, b"" if its other end is closed."""
    try:
        return os.read(pipe, _CHUNK)
    except BlockingIOError:
        return None


def _write(pipe: int, data: bytes) -> int:
    """Writes to a pipe. Returns how much it took."""
    try:
        return os.write(pipe, data)
    except BlockingIOError:
        return 0


def _reap(pid: int) -> None:
    """Reaps a process that is a child of this one by now.

    Bubblewrap may end before the first process of its namespace. Who is the first process of a container, or
    a subreaper, inherits that.
    """
    until = time.monotonic() + _REAP_SECONDS
    with suppress(ChildProcessError):
        while pid and os.waitpid(pid, os.WNOHANG)[0] == 0 and time.monotonic() < until:
            time.sleep(0.001)
