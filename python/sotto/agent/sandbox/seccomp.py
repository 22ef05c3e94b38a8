"""The filter of system calls: those that are listed are allowed, others fail with EPERM.

libseccomp, which most distributions install, makes the program that the kernel runs.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import functools
import os
from dataclasses import dataclass

# Names that the processor does not have are left out.
_FILES = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range
fstat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat statfs fstatfs
getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2
ftruncate fsync fdatasync flock dup dup2 dup3 pipe pipe2 sendfile copy_file_range fadvise64 umask
"""
# Landlock does not bound the extended attributes of files. `shutil` goes on without them.
_ATTRIBUTES = "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr setxattr lsetxattr fsetxattr"
_WAITS = """
poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
eventfd2 nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time pause restart_syscall
alarm setitimer getitimer futex futex_waitv sched_yield wait4 waitid
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack
"""
_MEMORY = "mmap munmap mprotect mremap madvise brk msync membarrier"
_PROCESS = """
exit exit_group getpid gettid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp
getpgid getsid getrusage times getrlimit sysinfo uname getpriority getcpu getrandom
sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
set_tid_address set_robust_list rseq
"""
_PAIRS = "sendto recvfrom recvmsg shutdown getsockname getpeername getsockopt"  # of `socketpair`
_TERMINAL = (
    0x5401,
    0x5413,
    0x5421,
    0x541B,
    0x5450,
    0x5451,
)  # TCGETS, TIOCGWINSZ, FIONBIO, FIONREAD, FIO(N)CLEX
_CONTROL = (0, 1, 2, 3, 4, 5, 6, 7, 1030)  # F_DUPFD to F_SETLKW without those of signals, F_DUPFD_CLOEXEC
_NAMES = (15, 16, 0x53564D41)  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EQUAL, _MASKED = 4, 7
_BAD_ARCHITECTURE, _OPTIMIZE = 2, 8  # attributes
_THREAD, _DETACHED = 0x003D0F00, 0x00400000  # flags of clone for a thread; musl adds one
_TMPFILE, _SET_ID = 0o20000000, 0o6000


class _Argument(ctypes.Structure):
    """What an argument of a system call is compared with: `struct scmp_arg_cmp`."""

    _fields_ = [
        ("number", ctypes.c_uint),
        ("comparison", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    ]


def _is(number: int, value: int) -> _Argument:
    return _Argument(number, _EQUAL, value, 0)


def _masked(number: int, mask: int, value: int) -> _Argument:
    return _Argument(number, _MASKED, mask, value)


@dataclass(frozen=True)
class FilterOptions:
    """What a filter depends on.

    Attributes:
        pid: Id of the process, as it sees it: the only one that it may send signals to.
        own_files: True if the process can reach no files of its user but those in its work folder. Landlock
            does not keep a process from changing the mode of files.
    """

    pid: int
    own_files: bool


@functools.cache
def library() -> ctypes.CDLL | None:
    """Returns libseccomp; None if it is not installed."""
    for name in ("libseccomp.so.2", ctypes.util.find_library("seccomp")):
        try:
            found = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if found is not None:
            found.seccomp_init.restype = ctypes.c_void_p
            found.seccomp_init.argtypes = [ctypes.c_uint32]
            found.seccomp_release.argtypes = [ctypes.c_void_p]
            found.seccomp_release.restype = None
            found.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
            found.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
            found.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
            found.seccomp_rule_add_array.argtypes = [
                ctypes.c_void_p,
                ctypes.c_uint32,
                ctypes.c_int,
                ctypes.c_uint,
                ctypes.POINTER(_Argument),
            ]
            return found
    return None


class _Rules:
    """A filter that is being made."""

    def __init__(self, seccomp: ctypes.CDLL) -> None:
        self._seccomp = seccomp
        self._context = seccomp.seccomp_init(_ERRNO | errno.EPERM)
        if not self._context:
            raise MemoryError("seccomp_init")
        seccomp.seccomp_attr_set(self._context, _BAD_ARCHITECTURE, _KILL)
        seccomp.seccomp_attr_set(self._context, _OPTIMIZE, 2)

    def add(self, names: str, *arguments: _Argument, action: int = _ALLOW) -> None:
        """Adds a rule for each name. All of `arguments` have to match."""
        for name in names.split():
            number = self._seccomp.seccomp_syscall_resolve_name(name.encode())
            if number >= 0:
                given = (_Argument * len(arguments))(*arguments)
                added = self._seccomp.seccomp_rule_add_array(
                    self._context, action, number, len(arguments), given
                )
                if added < 0:
                    raise OSError(-added, f"seccomp_rule_add {name}: {os.strerror(-added)}")

    def export(self) -> bytes:
        """Returns the program, and releases the filter."""
        file = os.memfd_create("filter")
        try:
            if (status := self._seccomp.seccomp_export_bpf(self._context, file)) < 0:
                raise OSError(-status, f"seccomp_export_bpf: {os.strerror(-status)}")
            return os.pread(file, os.fstat(file).st_size, 0)
        finally:
            os.close(file)
            self._seccomp.seccomp_release(self._context)


@functools.lru_cache(maxsize=8)
def program(options: FilterOptions) -> bytes:
    """Returns the filter for a process; empty if libseccomp is not installed."""
    seccomp = library()
    if seccomp is None:
        return b""
    rules = _Rules(seccomp)
    rules.add(f"{_FILES} {_WAITS} {_MEMORY} {_PROCESS} {_PAIRS}")
    rules.add("openat", _masked(2, _TMPFILE, 0), _masked(3, _SET_ID, 0))
    rules.add("open", _masked(1, _TMPFILE, 0), _masked(2, _SET_ID, 0))
    rules.add("creat", _masked(1, _SET_ID, 0))
    if options.own_files:
        rules.add("chmod fchmod", _masked(1, _SET_ID, 0))
        rules.add("fchmodat fchmodat2", _masked(2, _SET_ID, 0))
        rules.add("utime utimes utimensat futimesat")
    rules.add("clone", _masked(0, ~_DETACHED & (1 << 64) - 1, _THREAD))
    rules.add("clone3", action=_ERRNO | errno.ENOSYS)  # its flags are in memory; libc uses clone then
    rules.add(_ATTRIBUTES, action=_ERRNO | errno.ENOTSUP)
    rules.add("kill tgkill", _is(0, options.pid))
    rules.add("prlimit64", _is(0, 0), _is(2, 0))  # reads a limit
    rules.add("socketpair", _is(0, 1), _masked(1, 0xF, 1))  # streams: their ends have no other address
    rules.add("fallocate", _is(1, 0))  # other modes take space without the limit of a file's size
    for command in _CONTROL:
        rules.add("fcntl", _is(1, command))
    for command in _TERMINAL:
        rules.add("ioctl", _is(1, command))
    for option in _NAMES:
        rules.add("prctl", _is(0, option))
    return rules.export()
