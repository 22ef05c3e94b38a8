"""`Process`: a Python process behind walls, which runs one call at a time."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from ...errors import Status
from .folder import WorkFolder
from .launch import Launcher
from .limits import SandboxLimits
from .output import MAX_BYTES, CutOutput
from .results import Ending, SandboxError
from .usage import make_first_victim, unlinked_bytes, usage_of

START_SECONDS = 20.0
POLL_SECONDS = 0.025  # between looks at what the process uses
_REAP_SECONDS = 2.0
_CHUNK = 1 << 16
_TOKEN = 16  # bytes, see guest.py
_REPLY = _TOKEN + 1


@dataclass(frozen=True)
class Reply:
    """How a call ended: `ok` is False if the code raised."""

    ok: bool
    output: str
    seconds: float


class Ended(Exception):
    """The process has to be ended, or has ended: which limit, and what is said of it."""

    def __init__(self, ending: Ending, reason: str) -> None:
        super().__init__(reason)
        self.ending, self.reason = ending, reason


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
        self.folder = WorkFolder(self._user)
        self._pidfd: int | None = None
        self._pid = 0
        self._pipes: list[int] = []
        self._popen: subprocess.Popen[bytes] | None = None
        try:
            self._launch()
            self.walls: dict[str, bool] = self._greet(time.monotonic() + START_SECONDS)
        except Ended as ended:
            self.end()
            raise SandboxError(f"the sandbox did not start: {ended.reason}", Status.UNSUPPORTED) from None
        except OSError as error:
            self.end()
            raise SandboxError(f"the sandbox did not start: {error}", Status.UNSUPPORTED) from None
        except BaseException:
            self.end()
            raise

    # Start

    def _launch(self) -> None:
        requests, self._requests = self._pipe()
        self._replies, replies = self._pipe()
        self._output, output = self._pipe()
        self._info, info = self._pipe()
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
        self._find_pid(until)
        inside = self._launcher.bubblewrap is not None
        config = self._launcher.configuration(self.folder.path, 1 if inside else self._pid, self._user)
        output = CutOutput(2048)
        data, sent = json.dumps(config).encode(), 0
        frame = len(data).to_bytes(4, "little") + data
        said = b""
        while True:
            if sent < len(frame):
                with suppress(BlockingIOError, BrokenPipeError):
                    sent += os.write(self._requests, frame[sent : sent + _CHUNK])
            self._wait(until, output, writes=sent < len(frame))
            part = _read(self._replies)
            if part == b"":
                self._drain(output)
                raise Ended("exited", self._last_words(output))
            said += part or b""
            if len(said) >= 4 and len(said) >= 4 + int.from_bytes(said[:4], "little"):
                break
        make_first_victim(self._pid)
        self._send(signal.SIGSTOP)
        found: dict[str, bool] = json.loads(said[4:])
        return found

    def _find_pid(self, until: float) -> None:
        assert self._popen is not None
        self._pid = self._popen.pid
        if self._launcher.bubblewrap is not None:
            self._pid = self._inner_pid(until)
        if hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal"):
            self._pidfd = os.pidfd_open(self._pid)
            self._pipes.append(self._pidfd)

    def _inner_pid(self, until: float) -> int:
        """Waits until bubblewrap has written the id of the process, as JSON."""
        said, output = b"", CutOutput(2048)
        while not said.rstrip().endswith(b"}"):
            self._wait(until, output)
            part = _read(self._info)
            if part == b"":
                self._drain(output)
                raise Ended("exited", self._last_words(output))
            said += part or b""
        return int(json.loads(said)["child-pid"])

    def _last_words(self, output: CutOutput) -> str:
        assert self._popen is not None
        lines = [line for line in output.text.splitlines() if line.strip()]
        return lines[-1].strip() if lines else how_ended(self._popen.wait(_REAP_SECONDS))

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
            SandboxError: A limit was exceeded, the call was cancelled, or the process ended itself. It has
                been reaped.
        """
        began = time.monotonic()
        self._cancelled = cancelled
        output = CutOutput(self._launcher.limits.output)
        try:
            ok = self._call(code, began, output)
        except Ended as ended:
            self.end()
            error = SandboxError(
                f"{ended.reason}; the variables and files of this session are gone",
                Status.CANCELLED if ended.ending == "cancelled" else Status.INFERENCE,
            )
            error.ending, error.output = ended.ending, output.text
            error.seconds = time.monotonic() - began
            raise error from None
        return Reply(ok, output.text, time.monotonic() - began)

    def _call(self, code: bytes, began: float, output: CutOutput) -> bool:
        token = secrets.token_bytes(_TOKEN)
        frame = token + code
        before = usage_of(self._pid)
        self._send(signal.SIGCONT)
        with suppress(BrokenPipeError):
            data = len(frame).to_bytes(4, "little") + frame
            if _write(self._requests, data) != len(data):
                raise Ended("protocol", "the code read or filled the pipe of the sandbox")
        said = b""
        watch = _Watch(self, 0.0 if before is None else before.seconds)
        while len(said) < _REPLY:
            self._wait(began + self._launcher.limits.time_limit, output)
            watch.look(output)
            part = _read(self._replies)
            if part == b"":
                self._drain(output)
                raise Ended("exited", self._end_of_its_own())
            said += part or b""
        self._send(signal.SIGSTOP)
        self._drain(output)
        if len(said) != _REPLY or said[:_TOKEN] != token:
            raise Ended("protocol", "the code wrote to the pipe of the sandbox")
        watch.check(output)
        return said[_TOKEN] == 1

    def _wait(self, until: float, output: CutOutput, writes: bool = False) -> None:
        """Waits for the process, at most for a moment. Reads output."""
        left = until - time.monotonic()
        if self._cancelled.is_set():
            raise Ended("cancelled", "cancelled")
        if left <= 0:
            raise Ended("time_limit", f"no result within {self._launcher.limits.time_limit:g} s")
        poll = select.poll()
        poll.register(self._replies, select.POLLIN)
        poll.register(self._output, select.POLLIN)
        poll.register(self._info, select.POLLIN)
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

    def _end_of_its_own(self) -> str:
        """Waits until the process has ended, which has closed its pipes. Returns how."""
        assert self._popen is not None
        try:
            return f"the Python process ended itself: {how_ended(self._popen.wait(0.5))}"
        except subprocess.TimeoutExpired:
            return "the code closed the pipe of the sandbox"

    @property
    def pid(self) -> int:
        """Id of the process, as this process sees it."""
        return self._pid

    @property
    def limits(self) -> SandboxLimits:
        """The limits."""
        return self._launcher.limits

    # End

    def end(self) -> None:
        """Ends the process, reaps it, and removes its folder. A second call does nothing."""
        popen, self._popen = self._popen, None
        if popen is not None:
            self._send(signal.SIGKILL, popen)
            try:
                popen.wait(_REAP_SECONDS)
            except subprocess.TimeoutExpired:
                popen.kill()
                popen.wait()
        for one in list(self._pipes):
            self._close(one)
        self._pidfd = None
        self.folder.remove()

    def _send(self, number: signal.Signals, popen: subprocess.Popen[bytes] | None = None) -> None:
        """Sends a signal to the process, not to another that has got its id meanwhile."""
        popen = popen or self._popen
        with suppress(ProcessLookupError):
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, number)
            elif popen is not None and popen.poll() is None:
                os.kill(self._pid or popen.pid, number)

    def _pipe(self) -> tuple[int, int]:
        made = os.pipe()
        self._pipes += made
        return made

    def _close(self, one: int) -> None:
        self._pipes.remove(one)
        with suppress(OSError):
            os.close(one)


class _Watch:
    """Compares what a process uses during a call with its limits."""

    def __init__(self, process: Process, cpu_before: float) -> None:
        self._process = process
        self._before = cpu_before
        self._next = 0.0

    def look(self, output: CutOutput) -> None:
        """Checks the limits, if the last time was long ago."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + POLL_SECONDS
            self.check(output)

    def check(self, output: CutOutput) -> None:
        """Raises `Ended` if a limit is exceeded."""
        limits = self._process.limits
        if output.size > MAX_BYTES:
            raise Ended("output", f"more than {MAX_BYTES >> 20} MB of output")
        used = usage_of(self._process.pid)
        if used is not None and used.seconds - self._before > limits.cpu_time:
            raise Ended("cpu_time", f"more than {limits.cpu_time:g} s of processor time")
        if used is not None and used.threads > limits.threads:
            raise Ended("threads", f"more than {limits.threads} threads")
        entries, size = self._process.folder.measure(limits.files)
        if entries > limits.files:
            raise Ended("files", f"more than {limits.files} files")
        if size + unlinked_bytes(self._process.pid) > limits.disk_mb << 20:
            raise Ended("disk_mb", f"more than {limits.disk_mb} MB of files")


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


def how_ended(status: int) -> str:
    """Returns "exit status 3" or "SIGSEGV" for the status of a process, or of bubblewrap for it."""
    number = -status if status < 0 else status - 128
    if number > 0:
        with suppress(ValueError):
            return signal.Signals(number).name
    return f"exit status {status}"
