"""`PythonSandbox`: a tool with which a model runs Python code that nothing outside has to fear."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any

from ..._handle import Handle, Unique
from ..._typing import Unpack
from ..._values import invalid, string, truth, whole, wrong_type
from ...errors import ArgumentError, SottoError, Status
from ..context import CallContext
from ..options import ToolOptions
from ..tool import tool
from .interpreter import find_interpreter
from .launch import Launcher, is_root
from .limits import SandboxLimits
from .process import START_SECONDS
from .results import SandboxError, SandboxFile, SandboxResult
from .session import Job, SandboxSession
from .shelf import FileShelf
from .walls import find_walls, require_linux

MAX_CODE = 32 << 10  # bytes
_MOST_SESSIONS = 1024
_LOST_KEPT = 4096  # ids of ended sessions
_JOIN_SECONDS = 5.0
_TAIL = 200  # characters of output beside an error
_CANCEL_SECONDS = 0.9  # the agent waits a little longer
_DESCRIPTION = (
    "Runs Python code and returns what it prints and the value of its last expression. Variables stay "
    "between calls. There is no network. Only the standard library can be imported. Files can be written "
    "to the current folder alone."
)


class PythonSandbox(Unique):
    """Runs Python code that a model writes, in a process for each session. Linux alone.

    Put it among the `tools` of an agent. The model gets the tool `python` with one argument, `code`; calls
    need an approval unless `permission` says otherwise. Variables stay between the calls of a session, and
    files that the code writes to its current folder come back with ids, see `file()`.

    The code has no network, no child processes, no environment variables, and no files but the standard
    library and its work folder. Walls: namespaces of users, mounts, processes and network by bubblewrap,
    Landlock, a seccomp filter of system calls, and resource limits. Between calls the process is stopped. It
    is ended when a call exceeds a limit or is cancelled, when the engine or this object is closed, and when
    this process ends, however that happens. Sessions of different engines need different ids.

    Args:
        limits: Limits of the process and of each call; None: `SandboxLimits()`.
        python: Python interpreter; None: the one that runs this code.
        readable: Further files and folders that the code may read, at their own paths.
        strict: True: raises if a wall is missing. False: the log has a warning that names it.
        max_sessions: Maximum processes. Above it, the one that is idle for the longest time is ended.
        name: Name of the tool.
        description: What the model reads of the tool; None: a text that says what the code can do.
        **options: See `ToolOptions`. Default: kind "code_execution", permission "ask".

    Raises:
        ArgumentError: An argument is out of range, or `python` is no Python interpreter.
        SandboxError: The system is not Linux, no process could be started, or a wall is missing.

    >>> with PythonSandbox(strict=True) as sandbox:
    ...     agent = Agent(session, [sandbox], permissions=Permissions(approve=ask_player))
    ...     print(agent.say("What is the 100th prime number?").text)
    """

    def __init__(
        self,
        limits: SandboxLimits | None = None,
        *,
        python: str | os.PathLike[str] | None = None,
        readable: Iterable[str | os.PathLike[str]] = (),
        strict: bool = False,
        max_sessions: int = 8,
        name: str = "python",
        description: str | None = None,
        **options: Unpack[ToolOptions],
    ) -> None:
        require_linux()
        limits = SandboxLimits() if limits is None else limits
        if not isinstance(limits, SandboxLimits):
            raise wrong_type("limits", limits, "a SandboxLimits or None")
        if whole("max_sessions", max_sessions, _MOST_SESSIONS) < 1:
            raise ArgumentError(invalid("max_sessions", max_sessions, f"1 to {_MOST_SESSIONS}"))
        limit = limits.time_limit + START_SECONDS
        defaults = ToolOptions(kind="code_execution", permission="ask", time_limit=limit)
        made = tool(
            name=name,
            description=_DESCRIPTION if description is None else description,
            **ToolOptions(**{**defaults, **options}),
        )
        self.tools = [replace(made(self._python), source="sandbox")]
        launcher = Launcher(find_interpreter(python), limits, _paths(readable), None, is_root())
        self._walls = find_walls(launcher, truth("strict", strict))
        self.limits = limits
        self._max_sessions = max_sessions
        self._shelf = FileShelf(max_sessions * limits.files, max_sessions * limits.disk_mb << 20)
        self._lock = threading.Lock()  # guards the three below
        self._sessions: OrderedDict[str, SandboxSession] = OrderedDict()
        self._lost: OrderedDict[str, str] = OrderedDict()  # by session: why its variables are gone
        self._engines: weakref.WeakKeyDictionary[Handle, set[str]] = weakref.WeakKeyDictionary()
        self._pid = os.getpid()
        self._end = weakref.finalize(self, _end_all, self._sessions, self._pid)

    def __enter__(self) -> PythonSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sotto.agent.PythonSandbox behind {', '.join(self.walls)}, {len(self._sessions)} sessions>"

    @property
    def walls(self) -> tuple[str, ...]:
        """The walls that stand: "namespaces", "landlock", "seccomp", "limits"."""
        return self._walls.standing

    @property
    def missing(self) -> Mapping[str, str]:
        """Why other walls are missing, by name. Landlock may be missing behind namespaces."""
        return dict(self._walls.missing)

    def run(self, code: str, session_id: str = "main") -> SandboxResult:
        """Runs code in the process of a session, without any permission, and waits for the result.

        Args:
            code: Python code, at most 32 KB.
            session_id: Id of the session.

        Raises:
            SandboxError: The process was ended: see `SandboxError.ending`. Or too many sessions run code.
        """
        job = self._submit(code, string("session_id", session_id))
        try:
            return job.future.result()
        except CancelledError:
            raise SandboxError("the call was cancelled", Status.CANCELLED) from None
        except BaseException:
            job.cancel()
            raise

    def file(self, file_id: str) -> SandboxFile:
        """Returns a file that code wrote, by its id. The oldest files are dropped when there are too many.

        Raises:
            SottoError: No file has this id.
        """
        return self._shelf.get(string("file_id", file_id))

    def files(self, session_id: str | None = None) -> list[SandboxFile]:
        """Returns the files that the code of a session wrote, oldest first; None: of all sessions."""
        return self._shelf.of(session_id)

    def end_session(self, session_id: str) -> None:
        """Ends the process of a session, whose variables are lost. Does nothing if there is no process."""
        with self._lock:
            session = self._sessions.pop(string("session_id", session_id), None)
        if session is not None and os.getpid() == self._pid:
            session.end()
            session.join(_JOIN_SECONDS)

    def close(self) -> None:
        """Ends all processes. Files stay. A second call does nothing."""
        with self._lock:  # no call may begin meanwhile
            self._end()

    # For agents

    def attach(self, engine: Handle, session_id: str) -> None:
        """Has the process of a session end when the engine is closed."""
        with self._lock:
            self._engines.setdefault(engine, set()).add(session_id)
        engine.followers.add(self)

    def engine_closed(self, engine: Handle) -> None:
        """Ends the processes of the engine's sessions."""
        with self._lock:
            ids = self._engines.pop(engine, set())
            ended = [self._sessions.pop(one) for one in ids if one in self._sessions]
        for session in ended:
            session.end()

    async def _python(self, code: str, context: CallContext) -> str:
        """Runs code.

        Args:
            code: Python code.
            context: The call.
        """
        job = self._submit(code, context.session_id or "main")
        try:
            return (await asyncio.wrap_future(job.future)).text
        except asyncio.CancelledError:
            job.cancel()
            until = time.monotonic() + _CANCEL_SECONDS
            while not job.ended.is_set() and time.monotonic() < until:
                await asyncio.sleep(0.005)
            raise
        except SandboxError as error:
            if not error.output:
                raise
            told = SandboxError(f"{error}. Output: {error.output.strip()[-_TAIL:]}", error.status)
            told.ending, told.output, told.seconds = error.ending, error.output, error.seconds
            raise told from None

    def _submit(self, code: str, session_id: str) -> Job:
        data = _encoded(code)
        if os.getpid() != self._pid:
            raise SottoError(
                "the sandbox belongs to the process before the fork; create one in this process", Status.STATE
            )
        with self._lock:
            if not self._end.alive:
                raise SandboxError("the sandbox is closed; create another", Status.STATE)
            return self._session(session_id).submit(data)

    def _session(self, session_id: str) -> SandboxSession:
        if (found := self._sessions.get(session_id)) is not None:
            self._sessions.move_to_end(session_id)
            return found
        if len(self._sessions) >= self._max_sessions:
            self._end_oldest()
        lost = self._lost.pop(session_id, "")
        made = SandboxSession(session_id, self._walls.launcher, self._shelf.add, lost)
        self._sessions[session_id] = made
        return made

    def _end_oldest(self) -> None:
        for session_id, session in self._sessions.items():
            if session.idle:
                del self._sessions[session_id]
                session.end()
                self._lost[session_id] = (
                    "the Python process of this session was ended to make room for others"
                )
                if len(self._lost) > _LOST_KEPT:
                    self._lost.popitem(last=False)
                return
        raise SandboxError(
            f"{self._max_sessions} sessions run code already; raise max_sessions, or try again", Status.BUSY
        )


def _end_all(sessions: dict[str, SandboxSession], pid: int) -> None:
    if os.getpid() != pid:  # a forked child has no threads of theirs
        return
    ended = list(sessions.values())
    sessions.clear()
    for one in ended:
        one.end()
    for one in ended:
        one.join(_JOIN_SECONDS)


def _encoded(code: Any) -> bytes:
    if not isinstance(code, str):
        raise wrong_type("code", code, "a str")
    try:
        data = code.encode()
    except UnicodeEncodeError:
        raise ArgumentError(invalid("code", code, "text without lone surrogates")) from None
    if len(data) > MAX_CODE:
        raise ArgumentError(f"invalid code: expected at most {MAX_CODE} bytes, not {len(data)}; split it")
    return data


def _paths(given: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise wrong_type("readable", given, "several paths")
    found = []
    for one in given:
        path = os.path.realpath(string("readable", os.fspath(one)))
        if path == "/" or not os.path.exists(path):
            raise ArgumentError(invalid("readable", str(one), "existing files and folders below the root"))
        found.append(path)
    return tuple(found)
