"""The program inside a sandbox: gives up what it does not need, then runs code as it arrives.

It is started as the source text of `python -c`, so it imports nothing of Sotto. Its arguments are the
descriptors of a pipe with requests and a socket for replies. It writes its process id, reads its
configuration, see `Launcher.configuration()`, and writes the walls that stand. These are frames with JSON: a
length of 4 bytes, then that many bytes. A call is a frame with a token of 16 bytes and the code; its reply is
the token and one byte: 1, or 0 if the code raised. What the code prints goes to descriptor 1.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import ctypes
import gc
import json
import linecache
import os
import resource
import sys
import traceback
import types
from typing import Any

TOKEN = 16
_SET_PDEATHSIG, _SET_KEEPCAPS, _SET_SECCOMP, _CAPBSET_DROP, _SET_NO_NEW_PRIVS = 1, 8, 22, 24, 38
_FILTER = 2  # mode of PR_SET_SECCOMP
_SIGKILL = 9
_DAC_READ_SEARCH = 1 << 2
_CAPABILITY_VERSION = 0x20080522
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, the same on all processors
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # file rights of a version of Landlock; 16 from version 5 on
_READ_FILE, _READ_DIR, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_CHANGE = (
    _WRITE_FILE | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 13 | 1 << 14
)  # remove, make, rename, truncate
_FRAMES = 20  # of a traceback

libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("folder", ctypes.c_int32)]


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapabilityData(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable")]


class _Instruction(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint16),
        ("yes", ctypes.c_uint8),
        ("no", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.POINTER(_Instruction))]


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _prctl(option: int, value: Any, what: str, more: Any = 0) -> None:
    _checked(libc.prctl(option, ctypes.c_ulong(value), more, ctypes.c_ulong(0), ctypes.c_ulong(0)), what)


def _system_call(number: int, *args: Any) -> int:
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in args]
    return int(libc.syscall(ctypes.c_long(number), *given))


# Walls


def landlock_version() -> int:
    """Returns the version of Landlock that the kernel has; 0: none."""
    return max(_system_call(_CREATE_RULESET, None, 0, 1), 0)


def _landlock(config: dict[str, Any]) -> int:
    """Makes a ruleset. Returns its descriptor; -1 if the kernel has no Landlock."""
    version = landlock_version()
    if not version:
        return -1
    files = (1 << _RIGHTS.get(version, 16)) - 1
    handled = _Ruleset(files, 0b11, 0b11)
    size = 8 if version < 4 else 16 if version < 6 else 24
    made = _checked(_system_call(_CREATE_RULESET, ctypes.byref(handled), size, 0), "landlock_create_ruleset")
    for path in config["read"]:
        _allow(made, path, _READ_FILE | _READ_DIR)
    for path in config["list"]:
        _allow(made, path, _READ_DIR)
    _allow(made, "/dev/urandom", _READ_FILE)
    _allow(made, "/dev/null", _READ_FILE | _WRITE_FILE)
    _allow(made, config["work"], (_READ_FILE | _READ_DIR | _CHANGE) & files)
    return made


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _READ_FILE | _WRITE_FILE
        rule = _Beneath(rights, opened)
        _checked(_system_call(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0), f"landlock_add_rule {path}")
    finally:
        os.close(opened)


def _limit(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        kind = getattr(resource, name, None)
        if kind is not None:
            _, most = resource.getrlimit(kind)
            value = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(kind, (value, value))


def _drop_privileges(user: int | None, search: bool) -> None:
    """Becomes a user without capabilities; None: stays the user.

    With `search`, one capability stays: to pass folders that only root may enter, on the way to Python.
    """
    keep = _DAC_READ_SEARCH if search else 0
    for number in range(64):
        if libc.prctl(_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0) < 0:
            break  # the last capability, or no right to drop one
    if user is not None:
        _prctl(_SET_KEEPCAPS, int(search), "PR_SET_KEEPCAPS")
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header = _CapabilityHeader(_CAPABILITY_VERSION, 0)
    data = (_CapabilityData * 2)(_CapabilityData(keep, keep, 0))
    _checked(libc.capset(ctypes.byref(header), data), "capset")


def _filter(program: bytes) -> None:
    """Installs a filter of system calls."""
    count = len(program) // ctypes.sizeof(_Instruction)
    given = (_Instruction * count).from_buffer_copy(program)
    made = _Program(count, given)
    _prctl(_SET_SECCOMP, _FILTER, "PR_SET_SECCOMP", ctypes.byref(made))


def confine(config: dict[str, Any], keep: set[int]) -> dict[str, Any]:
    """Puts up the walls that are made from inside. Returns those that stand."""
    with contextlib.suppress(OSError):
        os.nice(config["nice"])
    ruleset = _landlock(config)
    _limit(config["limits"])
    _drop_privileges(config["user"], config["search"])
    os.chdir(config["work"])
    _prctl(_SET_PDEATHSIG, _SIGKILL, "PR_SET_PDEATHSIG")  # a change of the user clears it
    if config["parent"] and os.getppid() != config["parent"]:
        os._exit(1)  # it ended before
    _prctl(_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")
    if ruleset >= 0:
        _checked(_system_call(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
        os.close(ruleset)
    for number in set(range(3, max(keep) + 64)) - keep:
        with contextlib.suppress(OSError):
            os.close(number)
    program = base64.b64decode(config["filter"])
    if program:
        _filter(program)
    return {"landlock": ruleset >= 0, "seccomp": bool(program)}


# Calls


def read_frame(pipe: int) -> bytes | None:
    """Returns the next frame; None at the end."""
    head = _read(pipe, 4)
    return None if head is None else _read(pipe, int.from_bytes(head, "little"))


def write_frame(pipe: int, value: Any) -> None:
    """Writes a frame with JSON."""
    data = json.dumps(value).encode()
    os.write(pipe, len(data).to_bytes(4, "little") + data)


def _read(pipe: int, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        part = os.read(pipe, count - len(data))
        if not part:
            return None
        data += part
    return data


def run(code: str, name: str, scope: dict[str, Any]) -> bool:
    """Runs code, and prints the value of its last expression. Returns False if it raised."""
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec", dont_inherit=True), scope)
        if last is not None:
            shown = ast.Interactive([last])
            exec(compile(shown, name, "single", dont_inherit=True), scope)
    except BaseException as error:
        _print_error(error, name)
        return False
    return True


def _print_error(error: BaseException, name: str) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != name:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace, limit=-_FRAMES)


def serve(requests: int, replies: int) -> None:
    """Runs each code that arrives, until the pipe is closed."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    outputs, number = (sys.stdout, sys.stderr), 0
    write, run_, read = os.write, run, read_frame
    while (frame := read(requests)) is not None:
        number += 1
        done = False
        try:
            done = run_(frame[TOKEN:].decode(), f"<call {number}>", module.__dict__)
            for one in outputs:
                one.flush()
        except BaseException:  # what the code replaced, or a signal
            done = False
        write(replies, frame[:TOKEN] + (b"\1" if done else b"\0"))


def main() -> None:
    """Reads the configuration, puts up the walls, and serves."""
    requests, replies = int(sys.argv[1]), int(sys.argv[2])
    sys.argv[:] = [""]
    os.environ.pop("PWD", None)  # of bubblewrap
    for one in (sys.stdout, sys.stderr):
        one.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    write_frame(replies, os.getpid())
    frame = read_frame(requests)
    if frame is None:
        return
    walls = confine(json.loads(frame), {requests, replies})
    gc.collect()
    write_frame(replies, walls)
    serve(requests, replies)


if __name__ == "__main__":
    main()
