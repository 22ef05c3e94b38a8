"""`SandboxSession`: the Python process of one session, and the thread that owns it."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future

from ...errors import Status
from .launch import Launcher
from .process import Process
from .results import SandboxError, SandboxFile, SandboxResult


class Job:
    """A call that waits or runs. `ended` is set once it has an outcome and a cancelled process has ended."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.future: Future[SandboxResult] = Future()
        self.cancelled = threading.Event()
        self.ended = threading.Event()

    def cancel(self) -> None:
        """Ends the call. If it runs, its process is ended."""
        self.future.cancel()
        self.cancelled.set()


class SandboxSession:
    """Runs the calls of a session one after another. The process starts with the first call.

    Args:
        session_id: Id of the session.
        launcher: Starts the process.
        keep: Gets the files that a call wrote.
        lost: Why the variables of an earlier process of the session are gone; empty: there was none.
    """

    def __init__(
        self, session_id: str, launcher: Launcher, keep: Callable[[list[SandboxFile]], None], lost: str
    ) -> None:
        self.id = session_id
        self._launcher = launcher
        self._keep = keep
        self._lost = lost
        self._process: Process | None = None
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.RLock()  # guards the two below
        self._waiting: set[Job] = set()  # with the one that runs
        self._ended = False
        # The kernel ends the process with this thread, so the thread stays as long as the session.
        self._thread = threading.Thread(target=self._serve, name="sotto-sandbox", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """True if no call waits or runs."""
        return not self._waiting

    @property
    def pid(self) -> int:
        """Id of the process; 0: it was not started, or has ended."""
        process = self._process
        return 0 if process is None else process.pid

    def submit(self, code: bytes) -> Job:
        """Adds a call.

        Raises:
            SandboxError: The session has ended.
        """
        job = Job(code)
        with self._lock:
            if self._ended:
                raise SandboxError("the sandbox of the session was closed", Status.STATE)
            self._waiting.add(job)
            self._jobs.put(job)
        return job

    def end(self) -> None:
        """Cancels all calls and ends the process. Does not wait, see `join()`."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            for job in self._waiting:
                job.cancel()
            self._jobs.put(None)

    def join(self, seconds: float) -> None:
        """Waits until the process has ended."""
        if self._thread is not threading.current_thread():
            self._thread.join(seconds)

    # On the thread

    def _serve(self) -> None:
        try:
            while (job := self._jobs.get()) is not None:
                self._one(job)
        finally:
            self._end_process()

    def _one(self, job: Job) -> None:
        try:
            if job.future.set_running_or_notify_cancel():
                self._outcome(job)
        finally:
            with self._lock:
                self._waiting.discard(job)
            job.ended.set()

    def _outcome(self, job: Job) -> None:
        try:
            result = self._run(job)
        except BaseException as error:
            self._note(error)
            job.future.set_exception(error)
            self._end_process()
        else:
            job.future.set_result(result)

    def _run(self, job: Job) -> SandboxResult:
        if self._process is not None and not self._process.alive:
            self._end_process()
            self._lost = "the Python process of this session has ended"
        if self._process is None:
            self._process = Process(self._launcher, job.cancelled)
        reply = self._process.call(job.code, job.cancelled)
        limits = self._launcher.limits
        files = self._process.folder.take_new(self.id, limits.files, limits.disk_mb << 20)
        self._keep(files)
        lost, self._lost = self._lost, ""
        return SandboxResult(reply.output, reply.ok, tuple(files), reply.seconds, lost)

    def _note(self, error: BaseException) -> None:
        """Keeps why the variables are gone, unless the model gets the error."""
        if not isinstance(error, SandboxError) or error.ending == "cancelled":
            self._lost = "an earlier call was cancelled, which ended the Python process"

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError):
                process.end()
