"""`CodeExecution`: Python code of models, in the sandbox of `sotto.agent`."""

from __future__ import annotations

import os
import threading
import weakref
from dataclasses import replace
from typing import Any

from .._handle import Handle, Unique
from .._values import invalid, whole
from ..agent import CallContext, Permission, PythonSandbox, SandboxLimits, Tool
from ..agent.threads import value_of
from ..errors import ArgumentError
from .errors import RunnerError
from .files import Files
from .refusals import refuse
from .sessions import StoredSession
from .tools import CodeExecutionConfig, NetworkMode, SandboxPolicy

NAME = "execute_python"
_SECONDS = 60
_LEAST_DISK = 32  # MB
_MOST_SECONDS = 86_400
_NAMES = {  # of limits, in `SandboxPolicy`
    "memory_mb": "max_memory_mb",
    "cpu_time": "max_cpu_secs",
    "threads": "max_procs",
    "open_files": "max_open_fds",
    "file_mb": "max_file_sz_mb",
    "disk_mb": "max_file_sz_mb",
    "readable": "extra_fs_read",
    "python": "python_path",
}


class CodeExecution(Unique):
    """Runs the code of a runner's models: a process for each session, whose variables stay.

    Args:
        config: How.
        max_sessions: Maximum processes.

    Raises:
        RunnerError: A field is refused or out of range, or a wall is missing and `strict` is set.
    """

    def __init__(self, config: CodeExecutionConfig, max_sessions: int) -> None:
        policy = config.sandbox_policy
        _refuse(config, policy)
        self.permission: Permission = "auto" if config.permission is None else config.permission.value
        self.approval_callback = config.approval_callback
        try:
            self._sandbox = PythonSandbox(
                _limits(_seconds(config.timeout_secs), policy),
                python=config.python_path,
                readable=() if policy is None else policy.extra_fs_read,
                strict=policy is not None and policy.strict,
                max_sessions=max_sessions,
                name=NAME,
                permission="auto",
            )
        except ArgumentError as error:
            raise RunnerError(_renamed(str(error))) from None

    def tool(self, stored: StoredSession, files: Files) -> Tool:
        """Returns the tool of a chat. Files that its code writes are added to `files`."""
        (tool,) = self._sandbox.tools
        key = self._key(stored)

        async def run(arguments: Any, context: CallContext) -> Any:
            before = {one.id for one in self._sandbox.files(key)}
            result = await tool.run(arguments, replace(context, session_id=key))
            new = [one for one in self._sandbox.files(key) if one.id not in before]
            await value_of(lambda: [files.keep_written(one, context) for one in new])
            return result

        return replace(tool, run=run)

    def close(self) -> None:
        """Ends all processes. A second call does nothing."""
        self._sandbox.close()

    def engine_closed(self, engine: Handle) -> None:
        """Ends all processes: the runner cannot answer any more."""
        self.close()

    def _key(self, stored: StoredSession) -> str:
        """Returns the id of a session's process, which ends when the session is dropped."""
        if not stored.sandbox:
            stored.sandbox = os.urandom(8).hex()
            weakref.finalize(stored, _end_later, self._sandbox, stored.sandbox).atexit = False
        return stored.sandbox


def _refuse(config: CodeExecutionConfig, policy: SandboxPolicy | None) -> None:
    if config.working_directory is not None:
        refuse("working_directory")
    if policy is None:
        return
    if policy.network is NetworkMode.Full:
        refuse("NetworkMode.Full")
    for name in ("extra_fs_write", "extra_env"):
        if getattr(policy, name):
            refuse(name)


def _limits(seconds: int, policy: SandboxPolicy | None) -> SandboxLimits:
    if policy is None:
        return SandboxLimits(time_limit=seconds, cpu_time=seconds)
    return SandboxLimits(
        time_limit=seconds,
        cpu_time=max(policy.max_cpu_secs, seconds) if policy.max_cpu_secs > 0 else policy.max_cpu_secs,
        memory_mb=policy.max_memory_mb,
        threads=policy.max_procs,
        open_files=policy.max_open_fds,
        file_mb=policy.max_file_sz_mb,
        disk_mb=max(policy.max_file_sz_mb, _LEAST_DISK),
    )


def _seconds(given: int | None) -> int:
    if given is None:
        return _SECONDS
    if not 1 <= whole("timeout_secs", given, 2**31 - 1) <= _MOST_SECONDS:
        raise RunnerError(invalid("timeout_secs", given, f"an integer from 1 to {_MOST_SECONDS}"))
    return given


def _renamed(text: str) -> str:
    """Returns the text of an error with the names of the interface."""
    for name, ours in _NAMES.items():
        text = text.replace(f"invalid {name} ", f"invalid {ours} ")
    return text


def _end_later(sandbox: PythonSandbox, key: str) -> None:
    """Ends a process on a thread: the garbage collector must not wait."""
    threading.Thread(target=sandbox.end_session, args=(key,), name="sotto-runner-end", daemon=True).start()
