"""Opens untrusted files in a child process with limits.

The child process has a time limit and, on Linux, a memory limit. It exits when its parent exits, because its
stdin pipe closes then. A crash of a file parser ends the child process only. `CALLS` lists the calls that
the child process can run.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .._ended import how_ended
from ..errors import ArgumentError, SottoError

CALLS = {
    "check": "sotto.commands.models.check_file",
    "convert": "sotto.commands.convert.llama_cpp_child",
    "info": "sotto.commands.models.measure_file",
    "plan": "sotto.commands.plan_file",
}
SOUND, REFUSED, CRASHED, TIMEOUT, MEMORY = "sound", "refused", "crashed", "timeout", "memory"
MIN_SECONDS, BYTES_A_SECOND = 30.0, 100 << 20  # time limit: 30 s, plus the read time at 100 MiB/s
MIN_BYTES, MEMORY_OF_FILE = 2 << 30, 2
_POLL = 0.02
_SECONDS_TO_READ = 10.0  # what is left in a pipe
# Removes the working directory, which may be an untrusted model's, from the folders that modules come from.
_START = (
    "import sys; sys.path[:] = [path for path in sys.path if path]; "
    "from sotto.commands.confined import serve; serve(sys.argv[1])"
)

Report = Callable[[float], None]  # called with a fraction from 0 to 1


@dataclass
class Limits:
    """Limits of a child process: run time in seconds, and resident memory in bytes (0: no limit)."""

    seconds: float
    bytes: int

    @classmethod
    def of(cls, path: str | os.PathLike[str], seconds: float | None = None, extra: int = 0) -> Limits:
        """Returns the limits for opening the file `path`.

        The memory limit is 2 GiB plus twice the file size plus `extra` bytes.
        `seconds` sets the time limit. None: 30 seconds, plus 1 second for each 100 MiB of the file.
        """
        try:
            size = Path(path).expanduser().stat().st_size
        except OSError:
            size = 0
        return cls(
            seconds or MIN_SECONDS + size / BYTES_A_SECOND,
            MIN_BYTES + MEMORY_OF_FILE * size + extra,
        )


@dataclass
class Outcome:
    """Outcome of a call. `why`: reason for any verdict but `SOUND`. `result`: return value if `SOUND`."""

    verdict: str
    why: str = ""
    result: Any = None
    error: tuple[str, int, str] = ("", 0, "")  # class, status and text of the exception


def call(name: str, arguments: dict[str, Any], limits: Limits, report: Report | None = None) -> Outcome:
    """Calls `run(**arguments)` of the module `CALLS[name]` in a child process, and waits for the outcome.

    `report`: called on this thread with what the child process passes to `advance()`.
    """
    command = _command(name)
    with tempfile.TemporaryFile() as errors:
        stderr = None if sys.stderr is not None and _is_terminal(2) else errors
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        assert child.stdin is not None and child.stdout is not None
        lines = _Lines(child.stdout)
        try:
            with suppress(BrokenPipeError):  # the child process has crashed already
                child.stdin.write(json.dumps(arguments).encode() + b"\n")
                child.stdin.flush()  # stdin stays open: the child process exits when it closes
            stopped = _wait(child, limits, lines, report)
        finally:
            child.kill()
            child.wait()
            with suppress(OSError):  # the child process did not read all input
                child.stdin.close()
            lines.close()
        if stopped is not None:
            return stopped
        errors.seek(0)
        return _judge(child.returncode, lines.last, errors.read())


class _Lines:
    """The lines that a child process prints: fractions, then its result."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.last = b""
        self._pipe = pipe
        self._done: float | None = None  # not reported yet
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def take_done(self) -> float | None:
        """Returns the newest fraction, once."""
        done, self._done = self._done, None
        return done

    def close(self) -> None:
        """Waits until the child process, which has ended, has been read."""
        self._thread.join(_SECONDS_TO_READ)
        self._pipe.close()

    def _read(self) -> None:
        for line in self._pipe:
            self.last = line
            with suppress(ValueError, KeyError, TypeError):
                self._done = float(json.loads(line)["done"])


def value(name: str, arguments: dict[str, Any], limits: Limits, path: str) -> Any:
    """Runs `call()` and returns its result.

    Raises the exception of the call (`ArgumentError` or `SottoError`). If the child process crashed or
    exceeded a limit, raises `SottoError` with `path`, the verdict and the reason.
    """
    outcome = call(name, arguments, limits)
    if outcome.verdict == SOUND:
        return outcome.result
    kind, status, text = outcome.error
    if kind == "ArgumentError":
        raise ArgumentError(text, status)
    if outcome.verdict == REFUSED:
        raise SottoError(text, status)
    raise SottoError(f"{path}: {outcome.verdict}: {outcome.why}")


def _command(name: str) -> list[str]:
    return [sys.executable, "-c", _START, name]


def resident(pid: int) -> int:
    """Returns the resident memory of a process in bytes, or 0 if the system does not report it."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _wait(
    child: subprocess.Popen[bytes], limits: Limits, lines: _Lines, report: Report | None
) -> Outcome | None:
    """Waits until the child process exits or exceeds a limit. Returns None if it exited."""
    until = time.monotonic() + limits.seconds
    while child.poll() is None:
        done = lines.take_done()
        if report is not None and done is not None:
            report(done)
        if time.monotonic() > until:
            return Outcome(TIMEOUT, f"the file takes longer than {limits.seconds:g} seconds; raise --timeout")
        if limits.bytes and resident(child.pid) > limits.bytes:
            return Outcome(MEMORY, f"the file takes more than {limits.bytes >> 20} MB; raise --memory")
        time.sleep(_POLL)
    return None


def _judge(status: int, out: bytes, errors: bytes) -> Outcome:
    try:
        said = json.loads(out)
        return Outcome(said["verdict"], said["why"], said["result"], tuple(said["error"]))
    except (ValueError, KeyError):
        pass  # the child process ended before it printed its result
    last = next((text for text in reversed(errors.decode(errors="replace").splitlines()) if text.strip()), "")
    how = how_ended(status)
    return Outcome(CRASHED, f"{how}; {last.strip()}" if last else how)


_out: IO[str] = sys.stdout  # of a child process: what `call()` reads


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def serve(name: str) -> None:
    """Runs the child process: reads one line of JSON arguments from stdin, prints one JSON object."""
    global _out
    _out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no result
    _no_core_dump()
    arguments = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        result = importlib.import_module(CALLS[name]).run(**arguments)
        said = {"verdict": SOUND, "why": "", "result": result, "error": ("", 0, "")}
    except SottoError as error:
        kind = "ArgumentError" if isinstance(error, ArgumentError) else "SottoError"
        why = getattr(error, "reason", "") or str(error)  # the reason does not contain the file name
        said = {"verdict": REFUSED, "why": why, "result": None, "error": (kind, error.status, str(error))}
    except KeyboardInterrupt:  # the parent process reports the interrupt
        os._exit(130)
    print(json.dumps(said), file=_out, flush=True)
    os._exit(0)


def advance(done: float) -> None:
    """Reports a fraction from 0 to 1 to the parent process. For modules of `CALLS`."""
    print(json.dumps({"done": done}), file=_out, flush=True)


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def _no_core_dump() -> None:
    try:
        import resource
    except ImportError:  # Windows has no `resource` module
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
