"""Does what opens a file that nobody vouches for in a process of its own, which has limits.

The process has a limit of time and, on Linux, of memory. It ends when whoever started it does: the pipe that
it waits at closes then. If a parser crashes, that process does. `CALLS` lists what may be asked of it.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, SottoError

CALLS = {
    "check": "sotto.commands.models.check_file",
    "info": "sotto.commands.models.measure_file",
    "plan": "sotto.commands.plan_file",
}
SOUND, REFUSED, CRASHED, TIMEOUT, MEMORY = "sound", "refused", "crashed", "timeout", "memory"
MIN_SECONDS, BYTES_A_SECOND = 30.0, 100 << 20  # how slow a disk may be
MIN_BYTES, MEMORY_OF_FILE = 2 << 30, 2
_POLL = 0.02


@dataclass
class Limits:
    """What a process may take: seconds, and bytes of memory (0: any)."""

    seconds: float
    bytes: int

    @classmethod
    def of(cls, path: str | os.PathLike[str], seconds: float | None = None, extra: int = 0) -> Limits:
        """Limits for a file: more for a larger one. `extra`: bytes that are needed beside it."""
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
    """What became of a call. `result`: what it returned, where it is sound."""

    verdict: str
    why: str = ""
    result: Any = None
    error: tuple[str, int, str] = ("", 0, "")  # class, status and text of what was raised


def call(name: str, arguments: dict[str, Any], limits: Limits) -> Outcome:
    """Calls `run(**arguments)` of a module of `CALLS` in a process of its own."""
    command = _command(name)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        stderr = None if sys.stderr is not None and _is_terminal(2) else errors
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=stderr)
        assert child.stdin is not None
        try:
            with suppress(BrokenPipeError):  # it has crashed already
                child.stdin.write(json.dumps(arguments).encode() + b"\n")
                child.stdin.flush()  # and stays open: the child ends when it closes
            stopped = _wait(child, limits)
        finally:
            child.kill()
            child.wait()
            with suppress(OSError):  # of what it did not come to read
                child.stdin.close()
        if stopped is not None:
            return stopped
        out.seek(0)
        errors.seek(0)
        return _judge(child.returncode, out.read(), errors.read())


def value(name: str, arguments: dict[str, Any], limits: Limits, path: str) -> Any:
    """The same; raises what the call raised, or what became of it."""
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
    return [sys.executable, "-m", "sotto.commands.confined", name]


def resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _wait(child: subprocess.Popen[bytes], limits: Limits) -> Outcome | None:
    """Waits for the end, or for a limit."""
    until = time.monotonic() + limits.seconds
    while child.poll() is None:
        if time.monotonic() > until:
            return Outcome(TIMEOUT, f"it takes longer than {limits.seconds:g} seconds; see --timeout")
        if limits.bytes and resident(child.pid) > limits.bytes:
            return Outcome(MEMORY, f"it takes more than {limits.bytes >> 20} MB; see --memory")
        time.sleep(_POLL)
    return None


def _judge(status: int, out: bytes, errors: bytes) -> Outcome:
    try:
        said = json.loads(out)
        return Outcome(said["verdict"], said["why"], said["result"], tuple(said["error"]))
    except (ValueError, KeyError):
        pass  # it did not come to say anything
    last = next((text for text in reversed(errors.decode(errors="replace").splitlines()) if text.strip()), "")
    how = f"exit status {status}"
    if status < 0:
        try:
            how = signal.Signals(-status).name
        except ValueError:
            how = f"signal {-status}"
    return Outcome(CRASHED, f"{how}; {last.strip()}" if last else how)


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _serve(name: str) -> None:
    """The child: reads one line of arguments, prints one JSON object."""
    _no_core_dump()
    arguments = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        result = importlib.import_module(CALLS[name]).run(**arguments)
        said = {"verdict": SOUND, "why": "", "result": result, "error": ("", 0, "")}
    except SottoError as error:
        kind = "ArgumentError" if isinstance(error, ArgumentError) else "SottoError"
        why = getattr(error, "reason", "") or str(error)  # without the name of the file
        said = {"verdict": REFUSED, "why": why, "result": None, "error": (kind, error.status, str(error))}
    except KeyboardInterrupt:  # whoever started it says so
        os._exit(130)
    print(json.dumps(said), flush=True)
    os._exit(0)


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def _no_core_dump() -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    _serve(sys.argv[1])
